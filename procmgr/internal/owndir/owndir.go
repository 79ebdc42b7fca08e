// Package owndir makes directories that a program has to itself. A program holds
// a lock on its own for as long as it lives, so that the next one can tell those
// whose owner has died.
package owndir

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
)

// ErrRemoved is that of Make where somebody removes what it makes.
var ErrRemoved = errors.New("what is made there is removed at once")

// Name returns 50 random bits that a name can end with.
func Name() string { return strings.ToLower(rand.Text()[:10]) }

// A Dir is a directory of this program's own, which has its lock.
type Dir struct {
	Path string
	lock *os.File
}

// Make makes a directory, whose name begins with a prefix, and locks it.
func Make(parent, prefix string, mode fs.FileMode) (*Dir, error) {
	for range 10 {
		path := filepath.Join(parent, prefix+Name())
		if err := os.Mkdir(path, mode); err != nil {
			return nil, err
		}
		// Another program may just have taken it for an abandoned one.
		lock, err := take(path)
		if err == nil {
			if _, err = os.Stat(path); err == nil {
				return &Dir{path, lock}, nil
			}
			lock.Close()
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errTaken) {
			return nil, err
		}
	}
	return nil, ErrRemoved
}

// Unlock gives the directory up. It does not remove it.
func (d *Dir) Unlock() { d.lock.Close() }

// Abandoned yields the directories in parent whose names begin with a prefix and
// whose owner has died, as far as the system tells. It holds the lock of each
// meanwhile.
func Abandoned(parent, prefix string) iter.Seq[string] {
	return func(yield func(path string) bool) {
		entries, _ := os.ReadDir(parent) // what cannot be read has nothing to clean
		for _, e := range entries {
			if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
				continue
			}
			path := filepath.Join(parent, e.Name())
			lock, err := takeAbandoned(path)
			if err != nil {
				continue
			}
			more := yield(path)
			lock.Close()
			if !more {
				return
			}
		}
	}
}

// errTaken: somebody else has the lock.
var errTaken = errors.New("taken")
