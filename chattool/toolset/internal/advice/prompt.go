package advice

import (
	"regexp"
	"strings"
	"time"

	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"mvdan.cc/sh/v3/syntax"
)

const (
	// maxPrompt is the longest last line that is taken for a prompt, in bytes.
	maxPrompt = 200
	// promptPause is how long a process must have run for a line without an
	// end to be one that waits, and not one that is being written.
	promptPause = time.Second
)

// A line that has not ended, and asks for something.
var asking = regexp.MustCompile(`(?i)(` + strings.Join([]string{
	`\[(y/n|n/y|yes/no)[^\]]*\] ?[?:]? ?`,
	`\((y/n|n/y|yes/no)[^)]*\) ?[?:]? ?`,
	`\? `,
	`\? \([^()]{1,40}\) `, // Ok to proceed? (y)
	`\b(password|passphrase|passcode|username|login)\b.*: ?`,
	`^\W*(enter|type|input|choose|select|pick|provide|specify|confirm)\b.*[:?>] ?`,
	`\bpress\b.*\b(any key|enter|return)\b[^:]*:? ?`,
	`^(>>>|\(gdb\)|\(pdb\)|\w{1,20}>|\w{1,30}=[#>]) `, // an interpreter's
}, "|") + `)$`)

// A last line by which a program gives up on an answer.
var unanswered = regexp.MustCompile(`(?i)(^EOFError: EOF when reading a line|[\[(]y/n[\])]:? ?abort(ed)?[.!]?)$`)

// prompt says that nobody can answer, where the output ends in a question.
func (r Result) prompt() string {
	if !r.Failed && (!r.Alive || r.Ran < promptPause) {
		return ""
	}
	text, ended := strings.CutSuffix(r.Output.Text, "\n")
	line := text[strings.LastIndexByte(text, '\n')+1:]
	if line == "" || len(line) > maxPrompt {
		return ""
	}
	if asks := !ended && asking.MatchString(line) || r.Failed && unanswered.MatchString(line); !asks || containsAny(r.Command.Text, "|", "<") && hasInput(r.tree()) {
		return ""
	}
	return "The last line looks like a question, and nobody can answer it: stdin is empty. Use a flag such as -y, or pipe the answer in."
}

// hasInput reports whether something in a script reads from elsewhere than the
// script's own stdin. A nil script may.
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
