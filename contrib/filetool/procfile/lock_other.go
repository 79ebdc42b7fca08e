//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !dragonfly

package procfile

import "os"

// tryLock does nothing: no directory can be locked here.
func tryLock(*os.File) (locked, alone bool) { return true, false }
