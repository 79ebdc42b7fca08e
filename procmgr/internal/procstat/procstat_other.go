//go:build !linux

package procstat

// Look reports false: it is used only on Linux.
func Look(int) (Process, bool) { return Process{}, false }

// LookUse reports false.
func LookUse(int) (Use, bool) { return Use{}, false }
