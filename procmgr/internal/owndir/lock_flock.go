//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package owndir

import (
	"os"
	"syscall"
)

// take locks a directory until the file is closed.
func take(path string) (*os.File, error) {
	// The open does not wait, even if something else has taken the directory's
	// place.
	lock, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		lock.Close()
		return nil, errTaken
	}
	return lock, nil
}

func takeAbandoned(path string) (*os.File, error) { return take(path) }
