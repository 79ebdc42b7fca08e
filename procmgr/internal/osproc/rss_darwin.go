package osproc

// maxRSSUnit is the unit of rusage's ru_maxrss in bytes, see getrusage(2).
const maxRSSUnit = 1
