package proclocal

import (
	"slices"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/internal/screen"
)

const (
	defaultCols = 120
	defaultRows = 40
	// maxTerminals is how many terminals a chat may have.
	maxTerminals = 64
)

func sizeWithDefaults(s procmgr.Size) procmgr.Size {
	if s.Cols == 0 {
		s.Cols = defaultCols
	}
	if s.Rows == 0 {
		s.Rows = defaultRows
	}
	return s
}

// checkStdin returns an error that says why a request's stdin cannot be given,
// or nil.
func checkStdin(req procmgr.StartRequest) error {
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

// kindOf returns the system's word for a stdin.
func kindOf(s procmgr.Stdin) osproc.Stdin {
	switch s {
	case procmgr.StdinPipe:
		return osproc.StdinPipe
	case procmgr.StdinTerminal:
		return osproc.StdinTerminal
	}
	return osproc.StdinEmpty
}

// terminalType is the TERM of a terminal. It has no REP and no keyboard of
// newer terminals.
const terminalType = "screen-256color"

// forTerminal returns the environment that the policy lets through, for a
// command with a terminal. asks reports that the policy was applied by a
// program that did not know of the terminal: the variables that keep programs
// from asking have to go.
func (l *Local) forTerminal(env []string, asks bool) []string {
	quiet := map[string]string{}
	if asks {
		quiet = envpolicy.NonInteractive()
	}
	_, own := l.opts.Env.Set["TERM"]
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		if by, ok := quiet[name]; ok && by == value {
			return true
		}
		// An inherited size is that of another terminal.
		return name == "TERM" && !own || name == "LINES" || name == "COLUMNS"
	})
	if !own {
		env = append(env, "TERM="+terminalType)
	}
	return env
}
