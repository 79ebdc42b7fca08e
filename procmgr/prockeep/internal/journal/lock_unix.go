//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package journal

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"
)

// lockTime is how long Open waits for a keeper that is about to end, or for a child
// of one that is dead, which has not reached its exec.
const lockTime = 2 * time.Second

// lock keeps every other program from opening the same journal.
func lock(f *os.File) error {
	for late := time.Now().Add(lockTime); ; time.Sleep(time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EWOULDBLOCK), time.Now().After(late):
			return xerrors.Errorf("the journal cannot be locked: %w", err)
		}
	}
}
