//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package osproc

import (
	"os"
	"runtime"
	"sync/atomic"

	"golang.org/x/xerrors"
)

// MaxCommand is the longest command in bytes.
const MaxCommand = 32<<10 - 1

// checkPlatform fails, and so does Open. Nothing below is ever called.
func checkPlatform() error {
	return xerrors.Errorf("processes cannot be run on %s yet; use a Host on another machine", runtime.GOOS)
}

type session struct {
	pid   int
	done  chan struct{}
	empty atomic.Bool
}

func (s *session) awaitLeader() bool    { return false }
func (s *session) reap() Exit           { return Exit{Lost: true} }
func (s *session) vacant(*os.File) bool { return true }
func (s *session) await([]member)       {}
func (s *session) awaits() bool         { return false }
func (s *session) release()             {}

func (s *session) abandon() {}

func enterable(string) bool { return true }

func lastInheritable() int { return 0 }

func checkProcfs() error { return nil }

func (s *session) sealed() bool { return true }

type member struct{}

type searches struct{ leaders }

func (*searches) find([]*session, bool) (map[*session][]member, bool) { return nil, true }

func closeMembers([]member) {}

type pipe struct{ eof chan struct{} }

func (p *pipe) collect()    {}
func (p *pipe) drain() bool { return true }
func (p *pipe) close()      {}

func fork(*Command, string, string, *os.File, int, *cgroups, *lacks) (*session, *pipe, *Input, error) {
	return nil, nil, nil, checkPlatform()
}

func (*searches) deliver([]*session, Signal) (map[*session][]int, bool, error) { return nil, true, nil }

func (*searches) killGroups([]*session) {}

func signalName(s Signal) string { return s.String() }

func hasPidfds() bool { return false }
