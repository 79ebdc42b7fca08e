package osproc

import (
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// shellPath remembers the shell's file. A search for it looks into every
// directory of PATH.
type shellPath struct {
	mu   sync.Mutex // guards the fields below
	name string
	path string // this program's PATH at that time
	file string
}

// find looks the shell up on PATH. It reports whether the answer is a
// remembered one, which may no longer be true.
func (s *shellPath) find(name string) (file string, known bool, err error) {
	path := os.Getenv("PATH")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file != "" && s.name == name && s.path == path {
		return s.file, true, nil
	}
	file, err = LookShell(name)
	if err != nil {
		return "", false, xerrors.Errorf("the shell %q is not there (%v); %s: %w", name, err, shellAdvice, sentinel.ErrInvalid)
	}
	if file, err = filepath.Abs(file); err != nil { // the shell runs in another directory
		return "", false, xerrors.Errorf("the shell %q cannot be named (%v): %w", name, err, sentinel.ErrInvalid)
	}
	s.name, s.path, s.file = name, path, file
	return file, false, nil
}

func (s *shellPath) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.file = ""
}

// errShell is the sentinel.ErrInvalid of a shell that cannot be run.
var errShell = xerrors.Errorf("the shell cannot be run: %w", sentinel.ErrInvalid)
