package input

import (
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// The size of a terminal in characters.
const (
	Cols = 120
	Rows = 40
)

// Check returns an error that says why a request's stdin cannot be given,
// or nil.
func Check(req procmgr.StartRequest) error {
	switch req.Stdin {
	case procmgr.StdinEmpty, procmgr.StdinPipe, procmgr.StdinTerminal:
	default:
		return xerrors.Errorf("unknown stdin %.40q, use %q, %q or none: %w", string(req.Stdin), string(procmgr.StdinPipe), string(procmgr.StdinTerminal), procmgr.ErrInvalid)
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
