//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package procmgr

import (
	"os"
	"runtime"
	"sync/atomic"
	"syscall"

	"golang.org/x/xerrors"
)

// maxCommand is the longest command in bytes.
const maxCommand = 32<<10 - 1

// checkPlatform fails: NewLocal says so, and nothing below is ever called.
func checkPlatform() error {
	return xerrors.Errorf("processes cannot be run on %s yet; use a Host on another machine", runtime.GOOS)
}

type session struct {
	pid   int
	done  chan struct{}
	empty atomic.Bool
}

func (s *session) awaitLeader() bool    { return false }
func (s *session) reap() exit           { return exit{lost: true} }
func (s *session) vacant(*os.File) bool { return true }
func (s *session) members() []member    { return nil }
func (s *session) await([]member)       {}
func (s *session) release()             {}

func (s *session) abandon() {}

func enterable(string) bool { return true }

func (s *session) sealed() bool { return true }

type member struct{}

func escapees([]*session, map[int]bool) (map[*session][]member, bool) { return nil, true }

func closeMembers([]member) {}

type pipe struct{ eof chan struct{} }

func (p *pipe) collect()    {}
func (p *pipe) drain() bool { return true }
func (p *pipe) close()      {}

func (l *Local) fork(*record, string, []string, string, []string, string) error {
	return checkPlatform()
}

func (l *Local) deliver([]*record, syscall.Signal) (map[*record][]int, error) { return nil, nil }

func signalName(s syscall.Signal) string { return s.String() }

func hasPidfds() bool { return false }
