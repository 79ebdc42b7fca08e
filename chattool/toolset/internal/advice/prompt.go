package advice

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
)

const (
	// maxPrompt is the longest last line that may be a prompt, in bytes.
	maxPrompt = 200
	// promptPause is how long a process must have run before a line without
	// an end is one that waits. Before that, the process may still be
	// writing it.
	promptPause = time.Second
)

// asking matches a line without an end that asks for something.
var asking = regexp.MustCompile(`(?i)(` + strings.Join([]string{
	`\[(y/n|n/y|yes/no)[^\]]*\] ?[?:]? ?`,
	`\((y/n|n/y|yes/no)[^)]*\) ?[?:]? ?`,
	`\? `,
	`\? \([^()]{1,40}\) `,                // Ok to proceed? (y)
	`^[\w./ -]{1,40}: \([^()]{1,100}\) `, // package name: (demo)
	`\b(password|passphrase|passcode|username|login)\b.*: ?`,
	`^\W*(enter|type|input|choose|select|pick|provide|specify|confirm)\b.*[:?>] ?`,
	`\bpress\b.*\b(any key|enter|return)\b[^:]*:? ?`,
	`^(>>>|\(gdb\)|\(pdb\)|\w{1,20}>|\w{1,30}=[#>]) `, // an interpreter's
}, "|") + `)$`)

// unanswered matches the last line of a program that gets no answer and gives
// up.
var unanswered = regexp.MustCompile(`(?i)(^EOFError: EOF when reading a line|[\[(]y/n[\])]:? ?abort(ed)?[.!]?)$`)

// passedOver matches a question of a program that goes on without an answer and
// without an error: rm -i and its like, and git add -p.
var passedOver = regexp.MustCompile(`(?m)^(rm|mv|cp|ln): [a-z -]+ '[^\n]*'\? |^(\(\d+/\d+\) )?(Stage|Discard|Unstage|Stash|Apply) [^\n]* \[y,n,[^\]\n]*\]\? `)

// noPassword matches a question for a password, if the same line has the
// program's message that there was no answer.
var noPassword = regexp.MustCompile(`(?m)^(\w+ ){0,2}[Pp]assword: ?(su: |Password change has been aborted)`)

// prompt says that nobody can answer, if the command has asked a question.
func (r Result) prompt() string {
	if r.Alive && (r.Ran < promptPause || r.isStopped()) || r.Output.Waiting != nil {
		return "" // or the result says how to answer
	}
	if r.Output.Process.Stdin != "" {
		return r.waitsForInput()
	}
	note := r.question()
	if note == "" || containsAny(r.Command.Text, "|", "<") && hasInput(r.tree()) {
		return ""
	}
	return note
}

// question does the work of prompt, for a command that gets no input.
func (r Result) question() string {
	const nobody = ", and nobody can answer it: stdin is empty"
	answer := ". Use a flag such as -y, or pipe the answer in." + r.startAgain("open")
	secret := "The command has asked for a password" + nobody +
		" and there is no terminal. Use a key, a token or a password file instead, or tell the user." + r.startAgain("terminal")
	text, ended := strings.CutSuffix(r.Output.Text, "\n")
	line := text[strings.LastIndexByte(text, '\n')+1:]
	short := line != "" && len(line) <= maxPrompt
	switch {
	// A command that only prints may print a question that it does not ask.
	case short && !ended && asking.MatchString(line) && (r.Failed || r.Alive || !r.onlyPrints()),
		short && r.Failed && unanswered.MatchString(line):
		return "The last line looks like a question" + nobody + answer
	case r.Alive:
		return ""
	case r.Failed && (line == "EOFError" && strings.Contains(text, "getpass.py") || containsAny(text, "assword:") && noPassword.MatchString(text)):
		return secret
	case strings.Contains(text, "? ") && passedOver.MatchString(r.Output.Text) && !r.onlyPrints():
		return "The output has a question that was left unanswered" + nobody + answer
	case strings.Contains(r.Command.Text, "read") && readsAnswer(r.tree()):
		return "`read` got an empty answer, since stdin is empty. Set the variable instead, or pipe the answer in." + r.startAgain("open")
	}
	return ""
}

// startAgain says how a question could be answered, if there is a tool for it.
func (r Result) startAgain(stdin string) string {
	if r.Tools.Input == "" {
		return ""
	}
	end := "Or start it again"
	if r.Alive {
		end = "Or end it with " + r.Tools.Signal + ", start it again"
	}
	return " " + end + ` with stdin "` + stdin + `", and answer with ` + r.Tools.Input + "."
}

// waitsForInput says that a process with a stdin has asked a question.
func (r Result) waitsForInput() string {
	line := r.Output.Text[strings.LastIndexByte(r.Output.Text, '\n')+1:]
	if !r.Alive || r.Tools.Input == "" || line == "" || len(line) > maxPrompt || !asking.MatchString(line) {
		return ""
	}
	return "The last line looks like a question or a prompt: " + r.Tools.Input + " answers it."
}

// onlyPrints reports whether a command possibly does nothing but print.
func (r Result) onlyPrints() bool {
	tree := r.tree()
	return tree == nil || judgedIn(tree, tree.Stmts) == ""
}

// readsAnswer reports whether a script surely calls read: read must be at its
// top, and the commands before it in the same chain may only print words and
// set variables. It is false for a nil script.
func readsAnswer(tree *script.Tree) bool {
	if tree == nil || slices.Contains(functions(tree), "read") {
		return false
	}
	for _, stmt := range tree.Stmts {
		found := false
		script.Conjuncts(stmt, func(s *syntax.Stmt) bool {
			switch {
			case script.Direct(s) && script.Calls(s.Cmd, "read"):
				found = true
			case !prints(s) && !script.Prepares(s):
				found = false
			}
			return true
		})
		if found {
			return true
		}
		if diverts(stmt) {
			return false
		}
	}
	return false
}

// hasInput reports whether any part of a script reads from something other than
// the script's own stdin. It is true for a nil script.
func hasInput(tree *script.Tree) bool {
	if tree == nil {
		return true
	}
	found := false
	script.Walk(tree.Stmts, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.BinaryCmd:
			found = found || isPipe(node)
		case *syntax.Redirect:
			switch node.Op {
			case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
				found = true
			}
		}
		return !found
	})
	return found
}

// functions returns the names of the functions that a script declares.
func functions(tree *script.Tree) (names []string) {
	script.Walk(tree.Stmts, func(node syntax.Node) bool {
		if f, ok := node.(*syntax.FuncDecl); ok && f.Name != nil {
			names = append(names, f.Name.Value)
		}
		return true
	})
	return names
}
