//go:build unix && !aix && (!solaris || illumos)

package prochttp

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// listenUnix makes the socket in a directory that no other user can enter, and
// then moves it to its path. So the socket never has a mode that lets others
// in. A umask would do the same, but it belongs to the whole program.
func listenUnix(path string) (net.Listener, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if err := removeStale(path); err != nil {
		return nil, err
	}
	if most := len(syscall.RawSockaddrUnix{}.Path) - 1; len(path) > most {
		return nil, xerrors.Errorf("the path has %d bytes, a socket's has at most %d: %w", len(path), most, procmgr.ErrInvalid)
	}
	// The name is short, because the path of a socket is limited even if the
	// socket is moved later.
	private := filepath.Join(dir, "."+rand.Text()[:6])
	if most := len(syscall.RawSockaddrUnix{}.Path) - 1 - len("/s"); len(private) > most {
		return nil, xerrors.Errorf("the directory's path has %d bytes, that of a socket's has at most %d: %w",
			len(dir), most-(len(private)-len(dir)), procmgr.ErrInvalid)
	}
	if err := os.Mkdir(private, 0o700); err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(private) }() // it is empty by then
	made := filepath.Join(private, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // it would remove the first name of the socket
	if err := os.Chmod(made, 0o600); err != nil {
		l.Close()
		return nil, err
	}
	info, err := os.Lstat(made)
	if err == nil {
		err = os.Rename(made, path)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return &unixListener{UnixListener: l, path: path, info: info}, nil
}

// lockDir locks a directory while a socket is made in it. Otherwise two servers
// that start at once could each believe that the other's socket is stale. It
// refuses a directory in which others can replace the socket.
func lockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err == nil && !trusted(info):
		err = xerrors.Errorf("%s belongs to another user, who can replace what is in it: %w", dir, procmgr.ErrInvalid)
	case err == nil && info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0:
		err = xerrors.Errorf("others can write to %s: make it 0700: %w", dir, procmgr.ErrInvalid)
	case err == nil:
		err = lock(f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// trusted reports whether a directory belongs to this user or to root.
func trusted(dir fs.FileInfo) bool {
	stat, ok := dir.Sys().(*syscall.Stat_t)
	return ok && (stat.Uid == 0 || int(stat.Uid) == os.Geteuid())
}

// lockTime is how long listenUnix waits for a lock. Another server holds the
// lock only for moments, but any user that can read the directory can hold it
// for ever.
const lockTime = 5 * time.Second

func lock(f *os.File) error {
	for until := time.Now().Add(lockTime); ; time.Sleep(5 * time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, syscall.EINTR) && !errors.Is(err, syscall.EWOULDBLOCK):
			return err
		case time.Now().After(until):
			return xerrors.Errorf("lock %s, which another program holds: %w", f.Name(), err)
		}
	}
}

// removeStale removes a socket that a killed server left behind. It leaves
// anything else in place.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return xerrors.Errorf("%s is there and no socket: %w", path, procmgr.ErrInvalid)
	}
	conn, err := net.Dial("unix", path)
	switch {
	case err == nil:
		conn.Close()
		return xerrors.Errorf("%s is another server's: %w", path, procmgr.ErrInvalid)
	case errors.Is(err, syscall.ECONNREFUSED):
		return os.Remove(path)
	}
	return err
}

// A unixListener removes its socket when it is closed.
type unixListener struct {
	*net.UnixListener
	path  string
	info  fs.FileInfo
	close sync.Once
}

// Close implements [net.Listener]. It does not remove a socket that another
// server has put at the same path.
func (l *unixListener) Close() error {
	l.close.Do(func() {
		if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.info) {
			_ = os.Remove(l.path) // if it stays, the next server removes it
		}
	})
	return l.UnixListener.Close()
}

// Addr implements [net.Listener].
func (l *unixListener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }
