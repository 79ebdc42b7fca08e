package testenv

import (
	"syscall"
	"testing"
	"time"
)

// Mount mounts a file system for the rest of a test. It calls Lacks if the user may
// not. The arguments are as for mount(2).
func Mount(t testing.TB, source, dir, kind string, flags uintptr, data string) {
	t.Helper()
	if err := syscall.Mount(source, dir, kind, flags, data); err != nil {
		Lacks(t, "mount", "mount %s on %s: %v", source, dir, err)
	}
	t.Cleanup(func() {
		err := syscall.Unmount(dir, 0)
		// The threads of a program that is ending close its files one by one,
		// and its first thread may be a zombie by then.
		for over := time.Now().Add(5 * time.Second); err == syscall.EBUSY && time.Now().Before(over); {
			time.Sleep(time.Millisecond)
			err = syscall.Unmount(dir, 0)
		}
		if err != nil {
			t.Errorf("unmount %s: %v: something in it is still open", dir, err)
		}
	})
}
