//go:build !linux

package procstat

// Look reports false: it is used only on Linux.
func Look(int) (Process, bool) { return Process{}, false }
