package main

// A usage is the CPU time in seconds and the memory in bytes of a process.
type usage struct {
	CPU float64
	RSS int64
}
