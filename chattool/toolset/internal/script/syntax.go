package script

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Plain reports whether a statement is only a command: not negated, not
// backgrounded, and without redirections.
func Plain(s *syntax.Stmt) bool { return Direct(s) && len(s.Redirs) == 0 }

// Direct does the same as Plain, but allows redirections.
func Direct(s *syntax.Stmt) bool {
	return !s.Negated && !s.Background && !s.Coprocess && !s.Disown
}

// Conjuncts calls each for the commands of a && b && c, the last one first,
// until each returns false. It reports whether all calls returned true. It also
// returns false for a chain of another form. The chain nests to the left and
// may be as long as the script, so there is no recursion.
func Conjuncts(s *syntax.Stmt, each func(*syntax.Stmt) bool) bool {
	for {
		and, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok {
			return each(s)
		}
		if and.Op != syntax.AndStmt || !Plain(s) {
			return false
		}
		if _, nested := and.Y.Cmd.(*syntax.BinaryCmd); nested || !each(and.Y) {
			return false
		}
		s = and.X
	}
}

// Still reports whether the expansion of a word runs nothing: the word has only
// literals, quotes and parameters. Rarer parts count as running something.
func Still(w *syntax.Word) bool {
	return w == nil || stillParts(w.Parts)
}

func stillParts(parts []syntax.WordPart) bool {
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		case *syntax.DblQuoted:
			if !stillParts(part.Parts) {
				return false
			}
		case *syntax.ParamExp:
			if part.Index != nil || part.Slice != nil || part.Repl != nil || part.NestedParam != nil ||
				part.Exp != nil && !Still(part.Exp.Word) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// StillWords reports whether Still holds for each of the words.
func StillWords(words []*syntax.Word) bool {
	for _, w := range words {
		if !Still(w) {
			return false
		}
	}
	return true
}

// StillAssigns reports whether Still holds for each assignment. Arrays count as
// running something.
func StillAssigns(assigns []*syntax.Assign) bool {
	for _, a := range assigns {
		if a.Array != nil || a.Index != nil || !Still(a.Value) {
			return false
		}
	}
	return true
}

// IsCd reports whether a command is cd, with words that run nothing.
func IsCd(call *syntax.CallExpr) bool {
	return len(call.Args) > 0 && call.Args[0].Lit() == "cd" && StillWords(call.Args) && StillAssigns(call.Assigns)
}

// Calls reports whether a command is a call of one of the names.
func Calls(cmd syntax.Command, names ...string) bool {
	call, ok := cmd.(*syntax.CallExpr)
	return ok && slices.Contains(names, CalledName(call))
}

// CalledName returns the name of the program that a call runs, without its
// directory. It returns "" if the name is not certain.
func CalledName(call *syntax.CallExpr) string {
	if len(call.Args) == 0 {
		return ""
	}
	name, _ := Literal(call.Args[0])
	if name == "" {
		return ""
	}
	return path.Base(name)
}

// Literal returns the text that a word stands for, if the word has no
// expansions.
func Literal(w *syntax.Word) (value string, ok bool) {
	var b strings.Builder
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			b.WriteString(part.Value)
		case *syntax.SglQuoted:
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			for _, part := range part.Parts {
				lit, ok := part.(*syntax.Lit)
				if !ok {
					return "", false
				}
				b.WriteString(lit.Value)
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

// Between returns the source between two positions.
func (s *Tree) Between(from, to syntax.Pos) string {
	begin, end := int(from.Offset()), int(to.Offset())
	if begin > end || end > len(s.Source) {
		return ""
	}
	return s.Source[begin:end]
}

// Walk calls each for every node of the statements. If each returns false, Walk
// skips the nodes within that node.
func Walk(stmts []*syntax.Stmt, each func(syntax.Node) bool) {
	for _, s := range stmts {
		syntax.Walk(s, each)
	}
}
