//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package osproc

import (
	"errors"
	"runtime"
	"strconv"

	"golang.org/x/xerrors"
)

// MaxCommand is the longest command in bytes.
const MaxCommand = 32<<10 - 1

// checkPlatform fails, and so does Open. Nothing below is ever called.
func checkPlatform() error {
	return xerrors.Errorf("processes cannot be run on %s yet; use a Host on another machine: %w", runtime.GOOS, errors.ErrUnsupported)
}

type session struct {
	pid          int
	cookie       string
	exited, done chan struct{}
}

func (s *session) reap() Exit                  { return Exit{} }
func (s *session) signal(Signal) (bool, error) { return false, nil }
func (s *session) release()                    {}

type pipe struct{ eof chan struct{} }

func (p *pipe) collect()    {}
func (p *pipe) drain() bool { return true }
func (p *pipe) close()      {}

func forkError(err error, _ string) error { return err }

func (s *System) fork(*Command, string, string) (*Tree, error) { return nil, checkPlatform() }

// A Signal is the number of a signal. This type only lets the package build.
type Signal int

// The signals that end a tree.
const (
	SIGTERM Signal = 15
	SIGINT  Signal = 2
	SIGKILL Signal = 9
)

func (s Signal) String() string { return "signal " + strconv.Itoa(int(s)) }

func signalName(s Signal) string { return s.String() }

func enterable(string) bool { return true }

func lastInheritable() int { return 0 }
