// Package script parses shell commands, and answers the questions about their
// syntax that the tools and the notes share.
package script

import (
	"mvdan.cc/sh/v3/syntax"

	"github.com/toolproc/toolproc/chattool/internal/shallow"
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
// Package shallow limits how deep the parser descends. With 64 KiB of any
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
	file, err := syntax.NewParser(syntax.Variant(variant)).Parse(shallow.NewReader(command), "")
	if err != nil || len(file.Stmts) == 0 {
		return nil
	}
	return &Tree{Source: command, Stmts: file.Stmts}
}
