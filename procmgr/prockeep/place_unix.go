//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/prochttp"
)

const (
	// lookTime is how often a keeper looks whether programs still find it.
	lookTime = time.Second
	// maxMisses is how many looks in a row may fail before a keeper that nobody can
	// find ends.
	maxMisses = 5
	// maxRemovals is how often a look tries to make what is removed while it makes it.
	maxRemovals = 10
)

// endLost is why a keeper ends that nobody can find any more.
const endLost = "its directory is lost"

// errReplaced is the error of a keeper in whose directory another server listens.
var errReplaced = errors.New("another server has its socket in the directory")

// look looks whether programs still find this keeper: whether its socket and its
// journal are in the directory, and are its own. If not, it makes them anew. If it
// returns an error, they may still be missing.
func (s *server) look() error {
	if s.isFound() {
		return nil
	}
	s.looking.Lock()
	defer s.looking.Unlock()
	if s.isFound() || s.breaking.Load() || s.context.Err() != nil { // or another keeper is about to have the directory
		return nil
	}
	var err error
	for range maxRemovals {
		if err = s.makeAnew(); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return xerrors.Errorf("the keeper's directory was changed, and cannot be made anew: %w", err)
	}
	s.logFile.goOn()
	s.log.Warn("the directory was changed, and was made anew")
	return nil
}

// makeAnew makes the directory, and in it the socket and the journal.
func (s *server) makeAnew() error {
	err := makeDir(s.dir)
	if err == nil {
		err = s.listenAnew() // before the journal: whoever has the socket has the directory
	}
	if err == nil {
		err = s.keep.journal.Return()
	}
	return err
}

func (s *server) isFound() bool { return s.listener.isFound() && s.keep.journal.There() }

// endWhenLost looks now and then, and ends the keeper if nobody can find it.
func (s *server) endWhenLost() {
	tick := time.NewTicker(lookTime)
	defer tick.Stop()
	for misses := 0; ; {
		select {
		case <-tick.C:
		case <-s.context.Done():
			return
		}
		err := s.look()
		if err == nil {
			misses = 0
			continue
		}
		s.log.Warn("programs may not find the keeper", slog.String("error", err.Error()))
		if misses++; errors.Is(err, errReplaced) || misses >= maxMisses && !s.listener.isFound() {
			if err := s.end(endLost); err != nil {
				s.log.Warn("not all processes are gone", slog.String("error", err.Error()))
			}
			return
		}
	}
}

// serveName answers programs that do not find the socket: when they are told, it is
// there again, or another keeper cannot have it either. Their connection lasts as long
// as this keeper has the name. Its goroutines end with that.
func (s *server) serveName() {
	for {
		conn, err := s.name.AcceptUnix()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			if checkPeer(conn) != nil {
				return // every user can connect
			}
			defer context.AfterFunc(s.named, func() { conn.Close() })()
			_ = s.look() // an error is for endWhenLost
			if _, err := conn.Write([]byte{0}); err == nil {
				_, _ = io.Copy(io.Discard, conn) // until its end
			}
		}()
	}
}

// A socket is a listener that can get another socket at its path. Its end removes
// the path if that is its own.
type socket struct {
	path string

	mu   sync.Mutex // guards the fields below
	now  *net.UnixListener
	file fs.FileInfo // of the path
	// made is the same socket, if this program has made it.
	made net.Listener
}

func (s *socket) listener() *net.UnixListener {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// isFound reports whether the socket is at its path.
func (s *socket) isFound() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return isAt(s.path, s.file)
}

// inherit makes a socket of one that an earlier keeper has made.
func inherit(fd int, path string) (*socket, error) {
	file := os.NewFile(uintptr(fd), nameSocket)
	defer file.Close() // it is duplicated
	l, err := net.FileListener(file)
	if err != nil {
		return nil, err
	}
	s := &socket{path: path, now: l.(*net.UnixListener)}          //nolint:forcetypeassert // a keeper has given it
	if info, err := os.Lstat(path); err == nil && listens(path) { // or it is a copy
		s.file = info
	}
	return s, nil
}

// listens reports whether somebody listens at a path.
func listens(path string) bool {
	conn, err := net.Dial("unix", path)
	if err == nil {
		conn.Close()
	}
	return err == nil || errors.Is(err, syscall.EAGAIN) // too many are waiting
}

// listen makes the socket at its path. The file is that socket, and the caller's.
func (s *socket) listen() (*os.File, error) {
	made, err := prochttp.ListenUnix(s.path)
	if err != nil {
		return nil, err
	}
	file, err := made.(interface{ File() (*os.File, error) }).File() //nolint:forcetypeassert // it is a unix socket's
	var l net.Listener
	var info fs.FileInfo
	if err == nil {
		l, err = net.FileListener(file)
	}
	if err == nil {
		info, err = os.Lstat(s.path)
	}
	if err != nil {
		made.Close()
		closeAll([]*os.File{file}) // and it may be nil
		return nil, err
	}
	s.mu.Lock()
	before, madeBefore := s.now, s.made
	s.now, s.made, s.file = l.(*net.UnixListener), made, info //nolint:forcetypeassert // as above
	s.mu.Unlock()
	if madeBefore != nil {
		_ = madeBefore.Close() // the path is not its own any more
	}
	if before != nil {
		_ = before.Close() // as above
	}
	return file, nil
}

// Accept implements [net.Listener].
func (s *socket) Accept() (net.Conn, error) {
	for {
		l := s.listener()
		conn, err := l.Accept()
		if err == nil || s.listener() == l {
			return conn, err
		}
	}
}

// SetDeadline sets when Accept gives up.
func (s *socket) SetDeadline(t time.Time) error { return s.listener().SetDeadline(t) }

// Addr implements [net.Listener].
func (s *socket) Addr() net.Addr { return s.listener().Addr() }

// Close implements [net.Listener].
func (s *socket) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if isAt(s.path, s.file) {
		_ = os.Remove(s.path) // if it stays, the next keeper removes it
	}
	if s.made != nil {
		_ = s.made.Close() // it is the same socket
	}
	return s.now.Close()
}

// listenAnew makes the socket anew if it is not there.
func (s *server) listenAnew() error {
	if s.listener.isFound() {
		return nil
	}
	file, err := s.listener.listen()
	if err != nil {
		if listens(s.listener.path) {
			return errReplaced
		}
		return err
	}
	defer file.Close()
	return s.giveSocket(roleSocket, file)
}

// giveSocket lets the holder have a socket, so that connections which come while no
// keeper lives wait for the next one.
func (s *server) giveSocket(role string, file *os.File) error {
	if s.link == nil {
		return nil
	}
	return s.link.Give(seqSocket, []string{role}, []int{fdOf(file)})
}

// takeName takes the name of the directory, by which programs find this keeper when
// its directory was removed. So no second keeper can start then. Without a name, which
// another user may have taken, the keeper works, and is found by its directory alone.
func (s *server) takeName(fd int) error {
	l, err := listenName(s.dir, fd)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return xerrors.Errorf("another keeper lives, and has lost its directory: %w", errTaken)
	case err != nil:
		s.log.Warn("the keeper has no name beside its directory", slog.String("error", err.Error()))
		return nil
	case l == nil:
		return nil
	}
	s.name = l
	file, err := l.File()
	if err != nil {
		return err
	}
	defer file.Close()
	return s.giveSocket(roleName, file)
}
