//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// The files in a keeper's directory.
const (
	nameLock   = "lock"       // held by the program that opens the directory, for moments
	nameSocket = "keeper"     // while a keeper runs
	nameLog    = "keeper.log" // what keepers have logged, and their last words
	// nameJournal has what is known of each process, for the next keeper if this one dies.
	nameJournal = "journal"
)

// maxDirectory is the length of the longest path of a directory in which
// ListenUnix can make a socket: it makes it as ".XXXXXX/s" first.
const maxDirectory = len(syscall.RawSockaddrUnix{}.Path) - 1 - len("/.XXXXXX/s")

// makeDir makes a directory if it is not there, and keeps others out of it.
func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return xerrors.Errorf("the directory cannot be made: %w", err)
	}
	// A link that somebody else has put there could lead to any directory of ours.
	for _, look := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} {
		info, err := look(dir)
		if err != nil {
			return err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() {
			return xerrors.Errorf("%s belongs to another user: %w", dir, procmgr.ErrInvalid)
		}
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return xerrors.Errorf("%s is no directory: %w", dir, procmgr.ErrInvalid)
	case info.Mode().Perm()&0o077 != 0:
		if err := os.Chmod(dir, 0o700); err != nil {
			return xerrors.Errorf("others can enter the directory, and that cannot be changed: %w", err)
		}
	}
	return nil
}

// A keeper that ends gives its journal another name first, so that the directory is
// free for the next keeper, and removes it when its processes have ended. If it is
// killed before that, the holder starts a program that goes on with the end. If the
// holder is killed too, the next keeper does that beside its own work. Whoever has
// locked the journal is at it.
const nameEnding = nameJournal + ".ending-"

// endingPath returns the path of the journal of a keeper that ends.
func endingPath(dir, token string) string { return filepath.Join(dir, nameEnding+token) }

// endings returns the tokens of the keepers of a directory that were about to end.
func endings(dir string) (tokens []string) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil // nobody can open it then
	}
	for _, f := range files {
		if token, ok := strings.CutPrefix(f.Name(), nameEnding); ok && !strings.Contains(token, ".") {
			tokens = append(tokens, token)
		}
	}
	return tokens
}

// maxEndPause is the longest pause before somebody looks again whether a keeper still
// ends its processes.
const maxEndPause = 100 * time.Millisecond

// isAt reports whether a file is at a path.
func isAt(path string, info fs.FileInfo) bool {
	now, err := os.Lstat(path)
	return err == nil && os.SameFile(now, info)
}
