package toolset

import (
	"errors"
	"io"
	"path"
	"runtime"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// maxScript is the longest command that is parsed, in bytes. The slowest
	// of that size takes some 10 ms.
	maxScript = 64 << 10
	// maxFrames is how deep the stack may be, in calls, where the parser asks
	// for more of its input. It leaves room for about 200 levels of nesting,
	// and for the host's own calls.
	maxFrames = 2000
	// chunk is how much the parser is given at a time, in bytes, and so how
	// far it can get between two looks at the stack.
	chunk = 256
)

// A script is a command that has been parsed.
type script struct {
	source string
	stmts  []*syntax.Stmt
}

// A source is a command that is parsed where something asks for its syntax, and
// only once.
type source struct {
	text   string
	tree   *script
	parsed bool
}

// script returns the command as parse does.
func (c *source) script() *script {
	if !c.parsed {
		c.tree, c.parsed = parse(c.text), true
	}
	return c.tree
}

// parse parses a command as bash, which takes in nearly all of what sh does.
// It returns nil for one that is too long, nested too deep, or not valid.
//
// The parser descends by recursion and has no limit of its own, and a stack
// that overflows ends the whole program and cannot be recovered from. Whatever
// makes it descend is input, though, so the reader of the input is where the
// depth is bounded, for every construct of the grammar alike: at most
// maxFrames calls, and what one chunk adds. Measured with 64 KiB of each, that
// is 4 MiB of stack, where without the bound "(" takes 256 MiB and 6 s.
func parse(command string) *script {
	if len(command) > maxScript {
		return nil
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(&shallowReader{rest: command}, "")
	if err != nil || len(file.Stmts) == 0 {
		return nil
	}
	return &script{source: command, stmts: file.Stmts}
}

var errTooDeep = errors.New("nested too deep")

// A shallowReader hands out a script in chunks, and stops where its caller's
// stack is too deep.
type shallowReader struct {
	rest string
	read bool // the first chunk has been handed out
}

func (r *shallowReader) Read(p []byte) (int, error) {
	// Before the first chunk there was nothing to descend into. Most commands
	// have only that one.
	var deeper [1]uintptr
	if r.read && runtime.Callers(maxFrames, deeper[:]) > 0 {
		return 0, errTooDeep
	}
	r.read = true
	n := copy(p[:min(len(p), chunk)], r.rest)
	r.rest = r.rest[n:]
	if r.rest == "" {
		return n, io.EOF
	}
	return n, nil
}

// plain reports whether a statement is a command and nothing else: not
// negated, not backgrounded, without redirections.
func plain(s *syntax.Stmt) bool { return direct(s) && len(s.Redirs) == 0 }

// direct is plain for a statement that may be redirected.
func direct(s *syntax.Stmt) bool {
	return !s.Negated && !s.Background && !s.Coprocess && !s.Disown
}

// conjuncts calls each for the commands of a && b && c, the last one first,
// until it returns false, which it then returns too. The chain leans to the
// left and may be as long as the script, so there is no recursion.
func conjuncts(s *syntax.Stmt, each func(*syntax.Stmt) bool) bool {
	for {
		and, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok {
			return each(s)
		}
		if and.Op != syntax.AndStmt || !plain(s) {
			return false
		}
		if _, nested := and.Y.Cmd.(*syntax.BinaryCmd); nested || !each(and.Y) {
			return false
		}
		s = and.X
	}
}

// still reports whether expanding a word runs nothing: it is made of literals,
// quotes and parameters. Anything rarer counts as running something.
func still(w *syntax.Word) bool {
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
				part.Exp != nil && !still(part.Exp.Word) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func stillWords(words []*syntax.Word) bool {
	for _, w := range words {
		if !still(w) {
			return false
		}
	}
	return true
}

// stillAssigns is still for assignments. Arrays count as running something.
func stillAssigns(assigns []*syntax.Assign) bool {
	for _, a := range assigns {
		if a.Array != nil || a.Index != nil || !still(a.Value) {
			return false
		}
	}
	return true
}

// isCd reports whether a command is cd, with words that run nothing.
func isCd(call *syntax.CallExpr) bool {
	return len(call.Args) > 0 && call.Args[0].Lit() == "cd" && stillWords(call.Args) && stillAssigns(call.Assigns)
}

// calls reports whether a command is a call of one of the names.
func calls(cmd syntax.Command, names ...string) bool {
	call, ok := cmd.(*syntax.CallExpr)
	return ok && slices.Contains(names, calledName(call))
}

// calledName returns the name of what a call runs, without its directory, or ""
// where that is not certain.
func calledName(call *syntax.CallExpr) string {
	if len(call.Args) == 0 {
		return ""
	}
	name, _ := literal(call.Args[0])
	if name == "" {
		return ""
	}
	return path.Base(name)
}

// walk calls each for all that statements are made of, but for what is in a node
// that it returns false for.
func walk(stmts []*syntax.Stmt, each func(syntax.Node) bool) {
	for _, s := range stmts {
		syntax.Walk(s, each)
	}
}

// containsAny reports whether s contains one of the words.
func containsAny(s string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
