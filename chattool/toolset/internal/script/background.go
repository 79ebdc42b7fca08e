package script

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// MayBackground reports whether a command has an & that could background
// something. It is what most commands are spared the parser by, and is never
// false where Promote would be true.
func MayBackground(command string) bool {
	if strings.IndexByte(command, '&') < 0 {
		return false
	}
	if strings.IndexByte(command, '\\') >= 0 {
		return true // an escaped neighbor is no operator: \&& ends with one &
	}
	for i := range len(command) {
		if command[i] != '&' {
			continue
		}
		// &&, >&, <&, &> and |& are operators of their own.
		before, after := i > 0 && strings.IndexByte("&><|", command[i-1]) >= 0, i+1 < len(command) && strings.IndexByte("&>", command[i+1]) >= 0
		if !before && !after {
			return true
		}
	}
	return false
}

// Promote returns the command without the & that backgrounds its last
// statement, and whether it is to be run in the background instead. In the
// foreground that is where nothing but assignments, cd and export stands before
// the statement: all else must have ended when the call returns, and is run as
// it is. In the background, where no call waits, anything may stand there.
//
// A nil script is never promoted.
func (s *Tree) Promote(background bool) (command string, ok bool) {
	if s == nil {
		return "", false
	}
	last := s.Stmts[len(s.Stmts)-1]
	if !last.Background {
		return "", false
	}
	if _, ok := last.Cmd.(*syntax.CoprocClause); ok {
		return "", false // its output belongs to the shell that waits for it
	}
	for _, stmt := range s.Stmts[:len(s.Stmts)-1] {
		if !background && !Conjuncts(stmt, Prepares) {
			return "", false
		}
	}
	at := int(last.Semicolon.Offset())
	if at >= len(s.Source) || s.Source[at] != '&' {
		return "", false
	}
	before, after := s.Source[:at], s.Source[at+1:]
	// What follows directly, such as a comment, must not become part of the
	// word before it.
	if after != "" && !strings.ContainsRune(" \t\n", rune(after[0])) {
		before += " "
	}
	return before + after, true
}

// Prepares reports whether a statement only sets the stage: an assignment, cd
// or export, without anything that runs a command or takes time.
func Prepares(s *syntax.Stmt) bool {
	if !Plain(s) {
		return false
	}
	switch cmd := s.Cmd.(type) {
	case *syntax.DeclClause:
		return cmd.Variant.Value == "export" && StillAssigns(cmd.Args)
	case *syntax.CallExpr:
		// To sh, export is a command like any other.
		return StillAssigns(cmd.Assigns) && (len(cmd.Args) == 0 || Calls(cmd, "export") && StillWords(cmd.Args)) || IsCd(cmd)
	}
	return false
}
