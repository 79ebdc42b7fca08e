//go:build unix

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

// ListenUnix listens on a unix socket at a path that only this user and root
// can open: its mode is 0600 from its first moment on. So a handler on it can
// let in every caller that can connect, see HandlerOptions.Insecure.
//
// ListenUnix replaces a socket that a killed server left behind. It is an error
// if another server serves the socket, or if the path is there and is no
// socket. A directory that others can write to is an error, unless it is sticky
// as /tmp is. A directory that belongs neither to this user nor to root is an
// error too. Paths have at most some 100 bytes on all systems. Closing the
// listener removes the socket. Of two servers that begin at the same moment both
// may succeed, and the later one has the socket.
//
// On systems other than Unix it returns [errors.ErrUnsupported].
func ListenUnix(path string) (net.Listener, error) {
	l, err := listenUnix(path)
	if err != nil {
		return nil, xerrors.Errorf("prochttp: listen: %w", err)
	}
	return l, nil
}

// listenUnix makes the socket in a directory that no other user can enter, and
// then moves it to its path. So the socket never has a mode that lets others
// in. A umask would do the same, but it belongs to the whole program.
func listenUnix(path string) (net.Listener, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	if err := checkDir(dir); err != nil {
		return nil, err
	}
	if err := checkSocket(path); err != nil {
		return nil, err
	}
	// The name is short, because the path of a socket is limited even if the
	// socket is moved later.
	private := filepath.Join(dir, "."+rand.Text()[:6])
	made := filepath.Join(private, "s")
	if most := len(syscall.RawSockaddrUnix{}.Path) - 1; max(len(path), len(made)) > most {
		return nil, xerrors.Errorf("%s is too long for a socket, whose path has at most %d bytes, and its directory's %d: %w",
			path, most, most-len(made)+len(dir), procmgr.ErrInvalid)
	}
	if err := os.Mkdir(private, 0o700); err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(private) }() // it is empty by then
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

// checkDir refuses a directory in which others can replace the socket.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return err
	case !trusted(info):
		return xerrors.Errorf("%s belongs to another user, who can replace what is in it: %w", dir, procmgr.ErrInvalid)
	case info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0:
		return xerrors.Errorf("others can write to %s: make it 0700: %w", dir, procmgr.ErrInvalid)
	}
	return nil
}

// trusted reports whether a directory belongs to this user or to root.
func trusted(dir fs.FileInfo) bool {
	stat, ok := dir.Sys().(*syscall.Stat_t)
	return ok && (stat.Uid == 0 || int(stat.Uid) == os.Geteuid())
}

// forkToExec is longer than a child takes from its fork to its exec.
const forkToExec = time.Second

// checkSocket refuses a path that has anything but a socket that a killed server left
// behind. The new socket replaces that at once: to a client, no socket is no server.
func checkSocket(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return xerrors.Errorf("%s is there and no socket: %w", path, procmgr.ErrInvalid)
	}
	// A command that a killed server was starting holds its socket until the exec.
	for deadline := time.Now().Add(forkToExec); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("unix", path)
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			return nil
		case err != nil:
			return err
		}
		conn.Close()
		if time.Now().After(deadline) {
			return xerrors.Errorf("%s is another server's: %w", path, procmgr.ErrInvalid)
		}
	}
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
