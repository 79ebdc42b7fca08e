package advice

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"mvdan.cc/sh/v3/syntax"
)

const (
	// longSleep is the shortest sleep that counts as waiting for something.
	// A shorter sleep gives a program a moment.
	longSleep = 10 * time.Second
	// longWait is how long a command must have taken before there is a note
	// on its sleep.
	longWait = 5 * time.Second
)

// waiting names wait_for, if a command slept and then looked.
func (r Result) waiting() string {
	if r.Reading || r.Background || r.isStopped() || !strings.Contains(r.Command.Text, "sleep") || !r.Alive && r.Ran < longWait {
		return ""
	}
	if tree := r.tree(); tree == nil || !waits(tree.Stmts, true) {
		return ""
	}
	return "Do not wait with sleep: start the command with run_in_background. Then " + r.Tools.Output +
		" with wait_for returns as soon as its output matches, at the latest after wait_timeout."
}

// waits reports whether statements wait by sleeping, either for long or in a
// loop that looks again and again. It ignores statements in the background and
// the bodies of functions. If scripts is set, it looks at the script of a sh -c
// too.
func waits(stmts []*syntax.Stmt, scripts bool) bool {
	stmts = slices.Clone(stmts)
	for len(stmts) > 0 {
		s := stmts[len(stmts)-1]
		stmts = stmts[:len(stmts)-1]
		if s.Background || s.Coprocess || s.Disown {
			continue
		}
		switch cmd := s.Cmd.(type) {
		case *syntax.BinaryCmd:
			stmts = append(stmts, cmd.X, cmd.Y)
		case *syntax.Subshell:
			stmts = append(stmts, cmd.Stmts...)
		case *syntax.Block:
			stmts = append(stmts, cmd.Stmts...)
		case *syntax.TimeClause:
			if cmd.Stmt != nil {
				stmts = append(stmts, cmd.Stmt)
			}
		case *syntax.WhileClause:
			// while read goes through a list, at the pace of its input.
			if polls(cmd.Do, cmd.Cond) && !begins(cmd.Cond, "read") {
				return true
			}
		case *syntax.ForClause:
			if polls(cmd.Do) && (counts(cmd.Loop) || leaves(cmd.Do)) {
				return true
			}
		case *syntax.CallExpr:
			if slept(cmd) >= longSleep {
				return true
			}
			if shell, inner := inline(cmd); scripts && inner != "" {
				if tree := script.Parse(inner, shell); tree != nil && waits(tree.Stmts, false) {
					return true
				}
			}
		}
	}
	return false
}

// slept returns the duration of a sleep of fixed length, or 0 if the command is
// no such sleep.
func slept(call *syntax.CallExpr) time.Duration {
	if !script.Calls(call, "sleep") {
		return 0
	}
	total := 0.0 // seconds
	for _, w := range call.Args[1:] {
		word, ok := script.Literal(w)
		if !ok || word == "" {
			return 0
		}
		unit := 1.0
		if i := strings.IndexByte("smhd", word[len(word)-1]); i >= 0 {
			unit = []float64{1, 60, 3600, 86400}[i]
			word = word[:len(word)-1]
		}
		n, err := strconv.ParseFloat(word, 64)
		if err != nil || math.IsNaN(n) {
			return 0
		}
		total += n * unit
	}
	return time.Duration(min(total, math.MaxInt32) * float64(time.Second))
}

// inline returns the shell and the script of a sh -c, which may stand behind
// timeout. It returns "" if there is none.
func inline(call *syntax.CallExpr) (shell, text string) {
	if len(call.Args) < 3 {
		return "", ""
	}
	words, _ := literals(call.Args)
	if words[0] == "timeout" {
		words = words[1:]
		for len(words) > 0 && words[0] != "" && strings.IndexByte("-.0123456789", words[0][0]) >= 0 {
			words = words[1:] // its options and its time
		}
	}
	if len(words) < 3 || words[0] != "sh" && words[0] != "bash" && words[0] != "dash" {
		return "", ""
	}
	if words[1] != "-c" && words[1] != "-lc" && words[1] != "-ec" {
		return "", ""
	}
	return words[0], words[2]
}

// polls reports whether there is a sleep among the statements of a loop.
func polls(parts ...[]*syntax.Stmt) bool {
	for _, stmts := range parts {
		if within(stmts, "sleep") {
			return true
		}
	}
	return false
}

// leaves reports whether a loop may end early, as a loop does that has found
// what it looked for.
func leaves(stmts []*syntax.Stmt) bool { return within(stmts, "break", "exit") }

// counts reports whether a loop runs over numbers, and so does the same again
// and again.
func counts(loop syntax.Loop) bool {
	words, ok := loop.(*syntax.WordIter)
	if !ok {
		return true // for ((i = 0; …
	}
	if len(words.Items) == 0 {
		return false
	}
	for _, w := range words.Items {
		for _, part := range w.Parts {
			switch part := part.(type) {
			case *syntax.Lit:
				if strings.Trim(part.Value, "0123456789{.}") != "" {
					return false
				}
			case *syntax.CmdSubst:
				if !begins(part.Stmts, "seq") {
					return false
				}
			default:
				return false
			}
		}
	}
	return true
}

// begins reports whether the first of some statements calls a command.
func begins(stmts []*syntax.Stmt, name string) bool {
	return len(stmts) > 0 && script.Calls(stmts[0].Cmd, name)
}

// within reports whether statements call one of the commands in the foreground,
// at any depth.
func within(stmts []*syntax.Stmt, names ...string) bool {
	found := false
	script.Walk(stmts, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.Stmt:
			if node.Background || node.Coprocess || node.Disown {
				return false
			}
		case *syntax.FuncDecl, *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.CallExpr:
			found = found || script.Calls(node, names...)
		}
		return !found
	})
	return found
}
