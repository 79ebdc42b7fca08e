//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package journal

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"
)

// lock keeps every other program from opening the same journal. It waits for one
// that has it.
func lock(f *os.File, patience time.Duration) error {
	for late := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EWOULDBLOCK):
			return xerrors.Errorf("the journal cannot be locked: %w", err)
		case time.Now().After(late):
			return xerrors.Errorf("the journal cannot be locked: %w", ErrLocked)
		}
	}
}
