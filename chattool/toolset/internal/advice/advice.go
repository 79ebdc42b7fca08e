// Package advice writes notes on the result of a command, so that a model
// neither misreads the result nor makes a needless call.
package advice

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// maxNotes is how many notes on its command a result has. A model would not
	// read more.
	maxNotes = 2
	// maxNames is how many withheld variables and masked values are named.
	maxNames = 5
)

// table has the notes, the most important ones first. Each returns "" if it has
// nothing to say, or isn't certain.
var table = []func(Result) string{character, withheld, cutWrite, question, unedited, pipeline, exitCode, prepares, printsFiles}

// Notes returns the notes on a result, at most two.
func Notes(r Result) (notes []string) {
	for _, note := range table {
		if words := note(r); words != "" && len(notes) < maxNotes {
			notes = append(notes, words)
		}
	}
	return notes
}

// A Result is the result of a command.
type Result struct {
	Output  procmgr.Output
	Command *script.Source
	// Background is set if no call waits for the command. Reading is set if the
	// result of execute has already had the notes that are true at once.
	Background, Reading bool
	// WorkDir is the directory that the call named, or "".
	WorkDir string
	Tools   Tools
}

// Tools are the names by which the model knows the tools.
type Tools struct {
	Execute, Signal string
	// Input is the tool that writes to a stdin, or "" if there is none.
	Input string
	// ReadFile is the tool that reads files, or "" if there is none. ReadCall
	// renders a call of it, or is nil.
	ReadFile string
	ReadCall func(path string, offset int64) string
}

// alive reports whether some part of the process may live.
func (r Result) alive() bool { return r.Output.Process.State != procmgr.Exited }

// failed reports whether the process is known to have failed.
func (r Result) failed() bool {
	p := r.Output.Process
	return p.ExitCode != nil && *p.ExitCode != 0 || p.ExitCode == nil && !r.alive()
}

// code returns the exit code, if the shell itself ended with it.
func (r Result) code() (code int, ok bool) {
	p := r.Output.Process
	if p.ExitCode == nil || p.Signal != "" || p.EndedBy != procmgr.CauseExit {
		return 0, false
	}
	return *p.ExitCode, true
}

// withheld names the variables that the command mentions and did not get. An
// echo of such a variable prints an empty line, as if it were not set.
func withheld(r Result) string {
	names := r.Output.Withheld
	if len(names) == 0 || r.Reading && !r.failed() {
		return ""
	}
	return "Set on the host, but kept from commands by its environment policy, as secrets are: " + wording.List(names, maxNames) +
		". If the command needs what is kept from it, the user can allow it."
}

// nonBlocking are programs that make the pipe to which they print non-blocking, also
// for all others that print to it.
var nonBlocking = []string{"node", "npm", "npx", "bun"}

// curlCut is curl's exit code for output that it could not write.
const curlCut = 23

// cutWrite says why a command's own output was cut: a server in the background shares
// its pipe.
func cutWrite(r Result) string {
	code, _ := r.code()
	tree := r.Command.Tree()
	if tree == nil || code != curlCut && !containsAny(r.Output.Text, "Resource temporarily unavailable", "could not complete without blocking") {
		return ""
	}
	name := ""
	script.Walk(tree.Stmts, func(node syntax.Node) bool {
		if stmt, ok := node.(*syntax.Stmt); ok && stmt.Background {
			script.Walk([]*syntax.Stmt{stmt}, func(node syntax.Node) bool {
				if call, ok := node.(*syntax.CallExpr); ok && name == "" && slices.Contains(nonBlocking, script.CalledName(call)) {
					name = script.CalledName(call)
				}
				return name == ""
			})
		}
		return name == ""
	})
	if name == "" {
		return ""
	}
	return "Output may be cut: " + name + " in the background makes the pipe non-blocking that all parts of this command print to. " +
		"Give the server its own output, as in `" + name + " … >server.log 2>&1 &`, or run it with " + r.Tools.Execute + " in a call of its own."
}

// The signals that have the same number on every system that has them, and the
// usual reason for a death by each.
var signals = map[int]string{
	1:  "SIGHUP",
	2:  "SIGINT",
	3:  "SIGQUIT",
	4:  "SIGILL",
	6:  "SIGABRT: it gave up by itself",
	8:  "SIGFPE",
	9:  "SIGKILL: out of memory, or a kill from outside",
	11: "SIGSEGV: it crashed",
	13: "SIGPIPE: its output had no reader left",
	14: "SIGALRM",
	15: "SIGTERM",
}

// shellSpoke matches a message of a shell on why it ended with 127.
var shellSpoke = regexp.MustCompile(`(?m)not found|No such file|^[\w./-]*sh: |: unbound variable$|: parameter (null or )?not set$`)

// exitCode explains an exit code that comes from the shell and not from the
// command itself. Any command may use these numbers, so the note says "usually".
func exitCode(r Result) string {
	code, ok := r.code()
	switch signal := signals[code-128]; {
	case !ok || r.Output.Process.OOM || r.onWindows():
		return ""
	case code == 126 && !strings.Contains(r.Output.Text, "Is a directory"):
		return "exit_code 126 usually means that what was called is a directory, or a file that could not be executed: for a script, use chmod +x, or name its interpreter first."
	case code == 127 && !shellSpoke.MatchString(r.Output.Text):
		return "exit_code 127 usually means that a command was not found: look at its spelling, PATH and the directory."
	case signal != "":
		return fmt.Sprintf("exit_code %d usually means that a program that the command ran was ended by signal %d, %s.", code, code-128, signal)
	}
	return ""
}

// onWindows reports whether the shell has a language of Windows.
func (r Result) onWindows() bool {
	return slices.Contains([]string{"cmd", "powershell", "pwsh"}, r.Command.Shell)
}

// prepares says that a cd or an export on its own changes nothing.
func prepares(r Result) string {
	code, ok := r.code()
	tree := r.Command.Tree()
	if !ok || code != 0 || r.Reading || r.Background || tree == nil {
		return ""
	}
	for _, stmt := range tree.Stmts {
		if !script.Conjuncts(stmt, script.Prepares) {
			return ""
		}
	}
	return "Each call is a new shell, so this changes nothing for later calls: set workdir, or write it before the command that needs it, in the same call."
}

// containsAny reports whether s contains one of the words.
func containsAny(s string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

// Masked tells of the values that are masked in an output, so that a model takes the mask
// neither for the text of a file nor for a mistake. It is "" if none is. A program can print
// the words of a mask: that a value was masked is said beside the text.
func Masked(out procmgr.Output) string {
	texts := []string{out.Text, out.MatchedLine}
	for _, h := range out.Highlights {
		texts = append(texts, h.Text)
	}
	if out.Screen != nil {
		texts = append(texts, out.Screen.Rows...)
	}
	var shown []string
	for _, name := range out.Redacted {
		if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, "[withheld: "+name+"]") }) {
			shown = append(shown, name)
		}
	}
	if len(shown) == 0 {
		return ""
	}
	return "Masked in the output, not in files: " + wording.List(shown, maxNames) + ". Commands see what is really there."
}

var (
	// suspicious matches what may be a character that is not what it looks like. Nearly no
	// command has one.
	suspicious = regexp.MustCompile(`[^\x00-\x7F]|\r|&[a-z#]`)
	// entity matches an HTML entity that a command has in the place of a character.
	entity = regexp.MustCompile(`(^|[^\\])&(amp|lt|gt|quot|apos|nbsp|#\d+|#x[0-9a-fA-F]+);`)
	// typographic matches an option that begins with the wrong dash, or a word that begins
	// with the wrong quote.
	typographic = regexp.MustCompile(`(?m)(?:^|[\s=])([\x{2010}-\x{2015}\x{2212}]+[[:alnum:]]|[\x{2018}-\x{201F}])`)
	// masked matches what the shell does not take for words: quotes, comments, and all
	// behind the first here-document.
	masked = regexp.MustCompile(`(?s)\\.|'[^']*'|"(?:\\.|\$\([^()"]*(?:"[^"]*"[^()"]*)*\)|[^"\\])*"|(?:^|[\s;|(])#[^\n]*|<<[^\n]*\n.*`)
)

// character names a character of the command that is not what it looks like. Quotes, comments
// and here-documents may have any.
func character(r Result) string {
	text := r.Command.Text
	if r.Reading && !r.failed() || !suspicious.MatchString(text) {
		return ""
	}
	text = masked.ReplaceAllStringFunc(text, func(part string) string {
		if line, _, ok := strings.Cut(part, "\n"); ok && strings.HasPrefix(part, "<<") {
			return line
		}
		return "_"
	})
	if m := entity.FindString(text); m != "" {
		return "The command has the HTML entity " + m[strings.IndexByte(m, '&'):] + " and not the character that it stands for: write the character itself."
	}
	if i := strings.IndexByte(text, '\r'); i >= 0 && !r.onWindows() {
		return fmt.Sprintf("The command has carriage returns (CR, U+000D) at the ends of its lines: the shell takes each for a part of the last word, as in %s, and a file may have such a name. Write line ends as LF alone.", wordAt(text, i))
	}
	if i := invisibleIn(text); i >= 0 {
		return nameCharacter(text, i, "the shell does not take it for a space, but for a part of the word. Leave it out, or write a plain space.")
	}
	if m := typographic.FindStringSubmatchIndex(text); m != nil && r.failed() {
		return nameCharacter(text, m[2], "to the shell it is a letter like any other. Write the ASCII character.")
	}
	return ""
}

// invisibleIn returns the offset of the first character that is a space other than
// ASCII's, or shows nothing, or -1. Emoji and some scripts need joiners.
func invisibleIn(text string) int {
	before := ' '
	for i, c := range text {
		joins := (c == '\u200C' || c == '\u200D') && before >= utf8.RuneSelf
		if c >= utf8.RuneSelf && unicode.In(c, unicode.Zs, unicode.Cf) && !joins {
			return i
		}
		before = c
	}
	return -1
}

// nameCharacter returns the note on the character at an offset. harm says what comes of it.
func nameCharacter(text string, at int, harm string) string {
	c, _ := utf8.DecodeRuneInString(text[at:])
	kind := "typographic"
	if unicode.In(c, unicode.Zs, unicode.Cf) {
		kind = "invisible"
	}
	return fmt.Sprintf("The command has the %s character %U in %s: %s", kind, c, wordAt(text, at), harm)
}

// wordAt returns the word around an offset, with all that is not ASCII escaped.
func wordAt(text string, at int) string {
	from := max(strings.LastIndexAny(text[:at], " \t\n")+1, at-maxQuoted)
	to := at + maxQuoted
	if i := strings.IndexAny(text[at:], " \t\n"); i >= 0 {
		to = at + i
	}
	return strconv.QuoteToASCII(strings.ToValidUTF8(text[from:min(to, len(text))], ""))
}
