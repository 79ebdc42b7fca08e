//go:build !linux

package procstat

// Look reports false: nobody asks here.
func Look(int) (Process, bool) { return Process{}, false }

// LookUse reports false.
func LookUse(int) (Use, bool) { return Use{}, false }
