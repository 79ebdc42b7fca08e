package osproc

import (
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// A Stdin says which stdin a leader gets.
type Stdin int

const (
	StdinEmpty    Stdin = iota
	StdinPipe           // Tree.Input writes to it
	StdinTerminal       // Tree.Input writes to it; stdout and stderr are the same terminal
)

// A Size is that of a terminal, in characters.
type Size struct{ Cols, Rows int }

// ErrStdinClosed is the error of a write that nobody can read.
var ErrStdinClosed = xerrors.Errorf("its stdin is closed: %w", sentinel.ErrNotRunning)

// A TerminalMode says what a terminal does with the bytes that are written to
// it.
type TerminalMode struct {
	Echo  bool // it shows them
	Lines bool // it collects them into lines, and knows the keys of a line
	EOF   byte // then the key that ends the input
}
