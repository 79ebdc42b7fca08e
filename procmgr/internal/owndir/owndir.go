// Package owndir makes directories that a program has to itself. A program
// holds the lock of its directory as long as it lives. So the next program can
// tell which directories belong to a program that has died.
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

// ErrRemoved is the error of Make if another program removes the directories
// that it makes.
var ErrRemoved = errors.New("what is made there is removed at once")

// Name returns 50 random bits for the end of a name.
func Name() string { return strings.ToLower(rand.Text()[:10]) }

// A Dir is a directory of this program's own. The program holds its lock.
type Dir struct {
	Path string
	lock *os.File
}

// Make makes a directory whose name begins with a prefix, and locks it.
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

// Unlock gives up the directory. It does not remove it.
func (d *Dir) Unlock() { d.lock.Close() }

// Abandoned yields the directories in parent whose names begin with a prefix
// and whose owner has died, as far as the system tells. It holds the lock of
// each directory while it yields that.
func Abandoned(parent, prefix string) iter.Seq[string] {
	return func(yield func(path string) bool) {
		entries, _ := os.ReadDir(parent) // a directory that cannot be read has nothing to clean
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

// errTaken says that another program has the lock.
var errTaken = errors.New("taken")
