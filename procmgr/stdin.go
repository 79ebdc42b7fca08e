package procmgr

import (
	"slices"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/internal/screen"
)

// A Stdin says which stdin a process gets.
type Stdin string

const (
	// StdinEmpty: nothing to read, so that no command can wait for an answer.
	StdinEmpty Stdin = ""
	// StdinPipe: a pipe, to which [Input] writes. It is open until Input or
	// the end of the process closes it.
	StdinPipe Stdin = "pipe"
	// StdinTerminal: a terminal of its own, on which [Input] types, and to
	// which stdout and stderr go. The environment policy's variables that keep
	// programs from asking are left out, and TERM is screen-256color, unless
	// the policy's Set or the request has a TERM. A chat has at most 64
	// terminals; beyond that, Start is [ErrLimit].
	//
	// As at any terminal, "server &" ends together with its shell, because the
	// kernel sends SIGHUP to it. setsid, nohup, set -m and trap '' HUP prevent
	// that.
	StdinTerminal Stdin = "terminal"
)

// A Size is the size of a terminal in characters. Where it is 0, it is 120
// columns and 40 rows. At most it is 500 columns and 200 rows.
type Size struct {
	Cols int `json:"cols,omitempty"`
	Rows int `json:"rows,omitempty"`
}

const (
	defaultCols = 120
	defaultRows = 40
	// maxTerminals is how many terminals a chat may have.
	maxTerminals = 64
)

func (s Size) withDefaults() Size {
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
func checkStdin(req StartRequest) error {
	switch req.Stdin {
	case StdinEmpty, StdinPipe, StdinTerminal:
	default:
		return xerrors.Errorf("unknown stdin %.40q, use %q, %q or none: %w", string(req.Stdin), string(StdinPipe), string(StdinTerminal), ErrInvalid)
	}
	if s := req.Size; s.Cols < 0 || s.Cols > screen.MaxCols || s.Rows < 0 || s.Rows > screen.MaxRows {
		return xerrors.Errorf("a terminal cannot have %d columns and %d rows, at most %d and %d are allowed: %w",
			s.Cols, s.Rows, screen.MaxCols, screen.MaxRows, ErrInvalid)
	}
	return nil
}

// kind returns the system's word for a stdin.
func (s Stdin) kind() osproc.Stdin {
	switch s {
	case StdinPipe:
		return osproc.StdinPipe
	case StdinTerminal:
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
