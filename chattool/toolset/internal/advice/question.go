package advice

import (
	"regexp"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// maxQuestion is the longest line that may be a question, and maxForm the
	// longest end of an output that may be one of several lines, in bytes.
	maxQuestion = 200
	maxForm     = 4 << 10
	// shortRun is how long a program may have run for a label at its end to be a
	// question. A program that asks at once also ends at once without an answer.
	shortRun = time.Minute
	// promptPause is how long a process must have run before a line without an end
	// is one that waits. Before that, the process may still be writing it.
	promptPause = time.Second
)

// question says that a question of the command cannot be answered.
func question(r Result) string {
	if r.alive() && r.Output.Process.Elapsed < promptPause || r.Output.Process.Stdin != procmgr.StdinEmpty {
		return ""
	}
	const unanswerable = ", which can't be answered because stdin is empty"
	answer := ". Use a flag such as -y, or pipe the answer in." + r.startAgain("open")
	text := strings.TrimSuffix(r.Output.Text, "\n")
	line := text[strings.LastIndexByte(text, '\n')+1:]
	note := ""
	switch {
	// A command that only prints may print a question that it does not ask.
	case r.asks() && (r.failed() || r.alive() || !r.onlyPrints()),
		r.failed() && len(line) <= maxQuestion && unanswered.MatchString(line):
		note = "The last line looks like a question" + unanswerable + answer
	case r.alive():
	case r.failed() && noPassword.MatchString(text):
		note = "The command asked for a password" + unanswerable +
			" and there is no terminal. Use a key, a token or a password file instead, or tell the user." + r.startAgain("terminal")
	case strings.Contains(text, "? ") && passedOver.MatchString(r.Output.Text) && !r.onlyPrints():
		note = "The output has a question that was left unanswered" + unanswerable + answer
	}
	if note != "" && containsAny(r.Command.Text, "|", "<") && hasInput(r.Command.Tree()) {
		return ""
	}
	return note
}

// startAgain says how a question could be answered, if there is a tool for it.
func (r Result) startAgain(stdin string) string {
	if r.Tools.Input == "" {
		return ""
	}
	end := "Or start it again"
	if r.alive() {
		end = "Or end it with " + r.Tools.Signal + ", start it again"
	}
	return " " + end + ` with stdin "` + stdin + `", and answer with ` + r.Tools.Input + "."
}

var (
	// unanswered matches the last line of a program that gets no answer and gives up.
	unanswered = regexp.MustCompile(`(?i)(^EOFError: EOF when reading a line|[\[(]y/n[\])]:? ?abort(ed)?[.!]?)$`)
	// passedOver matches a question of a program that goes on without an answer and
	// without an error: rm -i and its like, and git add -p.
	passedOver = regexp.MustCompile(`(?m)^(rm|mv|cp|ln): [a-z -]+ '[^\n]*'\? |^(\(\d+/\d+\) )?(Stage|Discard|Unstage|Stash|Apply) [^\n]* \[y,n,[^\]\n]*\]\? `)
	// noPassword matches a question for a password, if the same line has the program's
	// message that there was no answer, and the end of Python's getpass.
	noPassword = regexp.MustCompile(`(?m)^(\w+ ){0,2}[Pp]assword: ?(su: |Password change has been aborted)|getpass\.py(?s:.*)\nEOFError\z`)
)

// asking matches a line without an end that asks for something.
var asking = regexp.MustCompile(`(?i)(` + strings.Join([]string{
	`[\[(]\W?y(es)?[\])]? ?([/|,]|or ) ?\W?no?\b.*[\])][ ?:>]*`, // [Y/n], ([y]/n), (y or n)
	`[\[(]\W?no?[\])]? ?([/|,]|or ) ?\W?y(es)?\b.*[\])][ ?:>]*`,
	`[\[(](yn|ny)[\])][ ?:>]*`,
	`\by/n[ ?:]*`,
	`\? +`,
	`\? +\([^()]{1,40}\) +`,               // Ok to proceed? (y)
	`\? +\[[^\[\]]{1,60}\] *`,             // Which one?  [Use arrows to move]
	`^[\w./ -]{1,40}: \([^()]{1,100}\) +`, // package name: (demo)
	`^[^\[\]]{1,80}\[[^\[\]]{1,60}\]: *`,  // Country Name (2 letter code) [AU]:
	`\b(password|passphrase|passcode|username|login)\b.*: *`,
	`^\W*(please )?(enter|type|input|choose|select|pick|provide|specify|confirm|paste)\b.*([:?>] *|[\])] +)`,
	`\b(press|hit) \W?(any key|enter|return)\b[^:]*:? *`,
	`^\? \S.*[?:›»…)].*`, // ? Project name: › demo
	`^--More--.*`,
	`^(>>>|In \[\d+\]:|\(\w{1,12}\)|\w{1,30}=[#>]|\S{0,60}\$|\S{1,60}#) `, // an interpreter's
	`^[\w(][\w .:()\[\]-]{0,40}[\w)\]]> `,
	`^\w> `,
	`^\s*> ?`,
}, "|") + `)$`)

// form matches questions that programs draw on several lines: first a list with one
// marked entry, second a prompt of clack.
var form = regexp.MustCompile(`(?:^|\n)(?:` +
	`\? [^\n]+\n(?: {2,}[^\n]*\n)* *[❯›>●◉] ?[^\n]*(?:\n[ ❯›>●◉○◯◻◼][^\n]*)*|` +
	`◆ [^\n]*(?:\n[│└][^\n]*)*` +
	`)\s*$`)

// label matches a line without an end that asks for something if it is the last line of
// a program that has ended soon, and notLabel matches labels that report something.
var (
	label    = regexp.MustCompile(`^.*\w.*: +$`)
	notLabel = regexp.MustCompile(`(?i)^\W*(\w+ing|number of|list of)\b|\b(error|warning|warn|info|debug|trace|fatal|notice|note|hint|results?|output|total|sum|count|status|state|progress|elapsed|eta|time|duration|size|speed|usage|example)\W*$`)
)

// ofNPM matches what npm prints behind the output of a program.
var ofNPM = regexp.MustCompile(`(?:npm notice[^\n]*(?:\n|$))+$`)

// asks reports whether an output ends with a question.
func (r Result) asks() bool {
	text := ofNPM.ReplaceAllString(r.Output.Text, "")
	line := text[strings.LastIndexByte(text, '\n')+1:]
	switch {
	case line != "" && len(line) <= maxQuestion && asking.MatchString(line):
		return true
	case form.MatchString(text[max(len(text)-maxForm, 0):]):
		return true
	}
	return !r.alive() && r.Output.Process.Elapsed < shortRun && len(line) <= maxQuestion && label.MatchString(line) && !notLabel.MatchString(line)
}

// onlyPrints reports whether a command possibly does nothing but print.
func (r Result) onlyPrints() bool {
	tree := r.Command.Tree()
	return tree == nil || judgedIn(tree, tree.Stmts) == ""
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
			case syntax.RdrIn:
				found = found || node.Word == nil || node.Word.Lit() != "/dev/null"
			case syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
				found = true
			}
		}
		return !found
	})
	return found
}

var (
	// editsList matches a git rebase whose list a person should edit, and editsNothing an
	// option with which the list is as it should be, or there is none.
	editsList    = regexp.MustCompile(`(?:^|[\s;&|(])git( +-\S+( +[^-\s]\S*)?)* +rebase\b[^|;&\n]* (-[a-z]*i|--interactive\b)`)
	editsNothing = regexp.MustCompile(`\s(-[a-zA-Z]*x|--(autosquash|exec|abort|continue|skip|quit)\b)|EDITOR|VISUAL|editor`)
)

// unedited says that the list of git rebase -i was not edited. The editor of commands
// is true, so the rebase succeeds and changes nothing.
func unedited(r Result) string {
	code, ok := r.code()
	text := r.Command.Text
	if !ok || code != 0 || r.Output.Process.Stdin == procmgr.StdinTerminal || !strings.Contains(r.Output.Text, "Successfully rebased") ||
		!editsList.MatchString(text) || editsNothing.MatchString(text) {
		return ""
	}
	return "No one has edited the list of `git rebase -i`: the editor of commands is `true`, so every commit was picked as it was." +
		" Set GIT_SEQUENCE_EDITOR to a command that edits the file, such as \"sed -i '2s/^pick/squash/'\", or use git reset --soft, or git commit --fixup and rebase -i --autosquash."
}
