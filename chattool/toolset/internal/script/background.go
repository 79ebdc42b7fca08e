package script

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// WithoutAmpersand returns the command without the & that backgrounds its last
// statement, and whether the command should run in the background instead. If
// background is false, only assignments, cd and export may stand before that
// statement. Any other statement must have ended when the call returns, and the
// command stays as it is. If background is true, no call waits, and anything
// may stand there.
//
// A nil script has none.
func (s *Tree) WithoutAmpersand(background bool) (command string, ok bool) {
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
	// Text that follows directly, such as a comment, must not become part
	// of the word before it.
	if after != "" && !strings.ContainsRune(" \t\n", rune(after[0])) {
		before += " "
	}
	return before + after, true
}

// Prepares reports whether a statement only prepares for others: it is an
// assignment, cd or export that runs no command and takes no time.
func Prepares(s *syntax.Stmt) bool {
	if !Plain(s) {
		return false
	}
	switch cmd := s.Cmd.(type) {
	case *syntax.DeclClause:
		return cmd.Variant.Value == "export" && StillAssigns(cmd.Args)
	case *syntax.CallExpr:
		// In sh, export is a command like any other.
		return StillAssigns(cmd.Assigns) && (len(cmd.Args) == 0 || Calls(cmd, "export") && StillWords(cmd.Args)) || IsCd(cmd)
	}
	return false
}
