//go:build linux

package prockeep

// Unwritten returns the mappings of a file to which nobody has written.
var Unwritten = unwritten

// ForgetStartup takes the pages of this program out of its memory.
var ForgetStartup = forgetStartup
