//go:build unix

package prochttp_test

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// Only its user can open the socket, from its first moment on: while the test
// makes sockets, there is never one at the path that other users could open.
func TestUnixSocketIsPrivate(t *testing.T) {
	// With this umask, every user can open a socket by default.
	defer syscall.Umask(syscall.Umask(0))
	dir := filepath.Join(t.TempDir(), "mine")
	require.NoError(t, os.Mkdir(dir, 0o700))
	path := filepath.Join(dir, "s")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	var seen int
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			info, err := os.Lstat(path)
			if err != nil {
				continue
			}
			seen++
			if info.Mode() != fs.ModeSocket|0o600 {
				t.Errorf("the socket has the mode %v", info.Mode())
				return
			}
		}
	})
	for range 300 {
		l, err := prochttp.ListenUnix(path)
		require.NoError(t, err)
		require.Equal(t, path, l.Addr().String())
		require.NoError(t, l.Close())
	}
	close(stop)
	wg.Wait()
	require.Positive(t, seen)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "the socket and what it was made in are gone")
}

// Anything at the path stays, except a socket that no server serves.
func TestUnixSocketInTheWay(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")

	first, err := prochttp.ListenUnix(path)
	require.NoError(t, err)
	_, err = prochttp.ListenUnix(path)
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	require.ErrorContains(t, err, "is another server's")

	// A killed server leaves its socket behind. A command that it was starting holds the
	// socket for a moment longer.
	require.NoError(t, first.Close())
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	stale.SetUnlinkOnClose(false)
	held, err := stale.File()
	require.NoError(t, err)
	require.NoError(t, stale.Close())
	time.AfterFunc(50*time.Millisecond, func() { held.Close() })
	second, err := prochttp.ListenUnix(path)
	require.NoError(t, err)

	// A listener that closes late does not remove the socket of the next one.
	require.NoError(t, os.Remove(path))
	third, err := prochttp.ListenUnix(path)
	require.NoError(t, err)
	require.NoError(t, second.Close())
	_, err = os.Lstat(path)
	require.NoError(t, err)
	require.NoError(t, third.Close())
	_, err = os.Lstat(path)
	require.ErrorIs(t, err, fs.ErrNotExist)

	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, []byte("precious"), 0o600))
	_, err = prochttp.ListenUnix(file)
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(file, link))
	_, err = prochttp.ListenUnix(link)
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "precious", string(data))

	_, err = prochttp.ListenUnix(filepath.Join(dir, "missing", "s"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = prochttp.ListenUnix(filepath.Join(dir, strings.Repeat("x", 120)))
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	open := filepath.Join(dir, "open")
	require.NoError(t, os.Mkdir(open, 0o700))
	require.NoError(t, os.Chmod(open, 0o777))
	_, err = prochttp.ListenUnix(filepath.Join(open, "s"))
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	require.ErrorContains(t, err, "others can write to ")
	require.NoError(t, os.Chmod(open, 0o777|os.ModeSticky))
	l, err := prochttp.ListenUnix(filepath.Join(open, "s"))
	require.NoError(t, err, "in a sticky directory as /tmp they cannot replace it")
	require.NoError(t, l.Close())
}

// Between a killed server and the next one there is always a socket: a client does not
// try again without one. So a stale one stays until the next one is ready.
func TestStaleUnixSocketStays(t *testing.T) {
	base, err := os.MkdirTemp("/tmp", "") //nolint:usetesting // a socket's path is short
	require.NoError(t, err)
	defer func() { _ = os.RemoveAll(base) }()
	dir := filepath.Join(base, strings.Repeat("x", len(syscall.RawSockaddrUnix{}.Path)-len(base)-5)) // with room for a short name alone
	require.NoError(t, os.Mkdir(dir, 0o700))
	path := filepath.Join(dir, "s")
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	stale.SetUnlinkOnClose(false)
	require.NoError(t, stale.Close())
	_, err = prochttp.ListenUnix(path)
	require.ErrorContains(t, err, "is too long for a socket")
	_, err = os.Lstat(path)
	require.NoError(t, err)
}

// Other users can write to a directory that belongs to another user, sticky or
// not.
func TestUnixSocketInAnothersDirectory(t *testing.T) {
	testenv.Root(t)
	for _, mode := range []fs.FileMode{0o700, 0o777 | os.ModeSticky} {
		dir := t.TempDir()
		require.NoError(t, os.Chmod(dir, mode))
		require.NoError(t, os.Chown(dir, 65534, 65534))
		_, err := prochttp.ListenUnix(filepath.Join(dir, "s"))
		require.ErrorIs(t, err, procmgr.ErrInvalid)
		require.ErrorContains(t, err, "belongs to another user")
	}
}
