// Package script parses shell commands, and answers what the tools and the notes
// on results both ask about their syntax.
package script

import (
	"errors"
	"io"
	"runtime"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// MaxScript is the longest command that is parsed, in bytes. The slowest
	// of that size takes some 10 ms.
	MaxScript = 64 << 10
	// maxFrames is how deep the stack may be, in calls, where the parser asks
	// for more of its input. It leaves room for about 200 levels of nesting,
	// and for the host's own calls.
	maxFrames = 2000
	// chunk is how much the parser is given at a time, in bytes, and so how
	// far it can get between two looks at the stack.
	chunk = 256
)

// A Tree is a command that has been parsed.
type Tree struct {
	Source string
	Stmts  []*syntax.Stmt
}

// A Source is a command that is parsed where something asks for its syntax, and
// only once.
type Source struct {
	Text string
	// Shell is the base name of the shell that runs it, "" if that is not
	// known.
	Shell  string
	tree   *Tree
	parsed bool
}

// Tree returns the command as Parse does.
func (c *Source) Tree() *Tree {
	if !c.parsed {
		c.tree, c.parsed = Parse(c.Text, c.Shell), true
	}
	return c.tree
}

// Parse parses a command as a shell reads it. shell is the base name of that
// shell; one that is not known is taken for bash, which takes in nearly all of
// what sh does. Parse returns nil for a command that is too long, nested too
// deep or not valid, and for a shell whose language is another one altogether,
// such as cmd.
//
// The parser descends by recursion and has no limit of its own, and a stack
// that overflows ends the whole program and cannot be recovered from. Whatever
// makes it descend is input, though, so the reader of the input is where the
// depth is bounded, for every construct of the grammar alike: at most
// maxFrames calls, and what one chunk adds. Measured with 64 KiB of each, that
// is 4 MiB of stack, where without the bound "(" takes 256 MiB and 6 s.
func Parse(command, shell string) *Tree {
	variant := syntax.LangBash
	switch shell {
	case "sh", "dash", "ash", "yash":
		variant = syntax.LangPOSIX
	case "ksh", "ksh93", "mksh":
		variant = syntax.LangMirBSDKorn
	case "zsh":
		variant = syntax.LangZsh
	case "fish", "csh", "tcsh", "cmd", "powershell", "pwsh":
		return nil
	}
	if len(command) > MaxScript {
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(variant)).Parse(&shallowReader{rest: command}, "")
	if err != nil || len(file.Stmts) == 0 {
		return nil
	}
	return &Tree{Source: command, Stmts: file.Stmts}
}

var errTooDeep = errors.New("nested too deep")

// A shallowReader hands out a script in chunks, and stops where its caller's
// stack is too deep.
type shallowReader struct {
	rest string
	read bool // the first chunk has been handed out
}

func (r *shallowReader) Read(p []byte) (int, error) {
	// The end comes in a read of its own: with bytes beside it, the parser is
	// one off in where the last word ends.
	if r.rest == "" {
		return 0, io.EOF
	}
	// Before the first chunk there was nothing to descend into. Most commands
	// have only that one.
	var deeper [1]uintptr
	if r.read && runtime.Callers(maxFrames, deeper[:]) > 0 {
		return 0, errTooDeep
	}
	r.read = true
	n := copy(p[:min(len(p), chunk)], r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
