package osproc

import (
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// shellPath remembers where the shell was found, which takes a look at every
// directory of PATH.
type shellPath struct {
	mu   sync.Mutex // guards what follows
	name string
	path string // of this program's PATH at the time
	file string
}

// find looks the shell up on PATH. It reports whether the answer is one that it
// remembered, which may be true no longer.
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
	if file, err = filepath.Abs(file); err != nil { // it runs in another directory
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
