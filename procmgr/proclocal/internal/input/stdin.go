package input

import (
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/internal/screen"
)

const (
	defaultCols = 120
	defaultRows = 40
)

// Size returns the size of a terminal with its defaults.
func Size(s procmgr.Size) procmgr.Size {
	if s.Cols == 0 {
		s.Cols = defaultCols
	}
	if s.Rows == 0 {
		s.Rows = defaultRows
	}
	return s
}

// Check returns an error that says why a request's stdin cannot be given,
// or nil.
func Check(req procmgr.StartRequest) error {
	switch req.Stdin {
	case procmgr.StdinEmpty, procmgr.StdinPipe, procmgr.StdinTerminal:
	default:
		return xerrors.Errorf("unknown stdin %.40q, use %q, %q or none: %w", string(req.Stdin), string(procmgr.StdinPipe), string(procmgr.StdinTerminal), procmgr.ErrInvalid)
	}
	if s := req.Size; s.Cols < 0 || s.Cols > screen.MaxCols || s.Rows < 0 || s.Rows > screen.MaxRows {
		return xerrors.Errorf("a terminal cannot have %d columns and %d rows, at most %d and %d are allowed: %w",
			s.Cols, s.Rows, screen.MaxCols, screen.MaxRows, procmgr.ErrInvalid)
	}
	return nil
}

// Kind returns the system's word for a stdin.
func Kind(s procmgr.Stdin) osproc.Stdin {
	switch s {
	case procmgr.StdinPipe:
		return osproc.StdinPipe
	case procmgr.StdinTerminal:
		return osproc.StdinTerminal
	}
	return osproc.StdinEmpty
}
