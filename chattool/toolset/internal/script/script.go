// Package script parses shell commands, and answers the questions about their
// syntax that the tools and the notes share.
package script

import (
	"errors"
	"io"
	"path"
	"runtime"
	"slices"
	"strings"

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
// deep: 2,000 calls, plus the calls that one chunk adds. The parser is recursive and
// has no limit of its own, and a stack overflow ends the whole program. Because only
// input makes the parser descend, its reader bounds the depth for every construct.
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

// Still reports whether the expansion of words and assignments runs nothing: they have only
// literals, quotes and parameters. Arrays and rarer parts count as running something.
func Still[N syntax.Node](nodes ...N) bool {
	still := true
	for _, n := range nodes {
		syntax.Walk(n, func(node syntax.Node) bool {
			switch node := node.(type) {
			case nil, *syntax.Word, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted:
			case *syntax.Assign:
				still = still && node.Index == nil
			case *syntax.ParamExp:
				still = still && node.Index == nil && node.Slice == nil && node.Repl == nil && node.NestedParam == nil
			default:
				still = false
			}
			return still
		})
	}
	return still
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
		return cmd.Variant.Value == "export" && Still(cmd.Args...)
	case *syntax.CallExpr:
		// In sh, export is a command like any other.
		return Still(cmd.Assigns...) && (len(cmd.Args) == 0 || Calls(cmd, "cd", "export") && Still(cmd.Args...))
	}
	return false
}
