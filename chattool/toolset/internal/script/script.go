// Package script parses shell commands, and answers the questions about their
// syntax that the tools and the notes share.
package script

import (
	"errors"
	"io"
	"runtime"

	"mvdan.cc/sh/v3/syntax"
)

// MaxScript is the longest command that is parsed, in bytes. The slowest command
// of that size takes some 10 ms.
const MaxScript = 64 << 10

// A Tree is a command that has been parsed.
type Tree struct {
	Source string
	Stmts  []*syntax.Stmt
}

// A Source is a command that is parsed when something asks for its syntax, and
// only once.
type Source struct {
	Text string
	// Shell is the base name of the shell that runs the command, or "" if
	// it is not known.
	Shell  string
	tree   *Tree
	parsed bool
}

// Tree returns the result of Parse.
func (c *Source) Tree() *Tree {
	if !c.parsed {
		c.tree, c.parsed = Parse(c.Text, c.Shell), true
	}
	return c.tree
}

// Parse parses a command as a shell reads it. shell is the base name of that
// shell. A shell that is not known is taken for bash, which accepts nearly
// everything that sh does. Parse returns nil for a command that is too long,
// nested too deep or not valid. It also returns nil if the shell has another
// language altogether, such as cmd.
//
// A shallowReader limits how deep the parser descends. With 64 KiB of any
// construct, the stack was at most 4 MiB. Without the limit, "(" takes 256 MiB
// and 6 s.
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

const (
	// maxFrames is how many calls deep the stack may be when the parser
	// asks for more input. It leaves room for about 200 levels of nesting,
	// and for the host's own calls.
	maxFrames = 2000
	// chunk is how many bytes the parser gets at a time. So it is also how
	// far the parser gets between two checks of the stack.
	chunk = 256
)

var errTooDeep = errors.New("nested too deep")

// A shallowReader reads a command in chunks, and stops if its caller's stack is too
// deep: 2,000 calls, plus those that one chunk adds. The parser is recursive and has no
// limit of its own, and a stack that overflows ends the whole program. But only input
// makes the parser descend, so its reader bounds the depth for every construct alike.
type shallowReader struct {
	rest string
	read bool // the first chunk has been handed out
}

func (r *shallowReader) Read(p []byte) (int, error) {
	// The end comes in a read of its own. If bytes come with it, the parser
	// is off by one in the end of the last word.
	if r.rest == "" {
		return 0, io.EOF
	}
	// Before the first chunk the parser cannot have descended. Most
	// commands have only that one.
	var deeper [1]uintptr
	if r.read && runtime.Callers(maxFrames, deeper[:]) > 0 {
		return 0, errTooDeep
	}
	r.read = true
	n := copy(p[:min(len(p), chunk)], r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
