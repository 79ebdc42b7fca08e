package advice

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"github.com/toolproc/toolproc/procmgr"
	"mvdan.cc/sh/v3/syntax"
)

// A search is a call of pgrep -f or pkill -f. Both search whole command lines.
// The pattern is part of such a line: that of the shell whose script has the
// call.
type search struct {
	name    string // pgrep or pkill
	pattern string
	signal  string // the signal that pkill sends, such as "SIGTERM"
	at, end uint   // the pattern's offsets in the script
}

// selfKill says that a command ended its own shell, or found it, because its
// own command line matches the pattern.
func (r Result) selfKill() string {
	p := r.Output.Process
	if p.State == procmgr.Running || r.Alive && r.Reading || !containsAny(r.Command.Text, "pkill", "pgrep") {
		return ""
	}
	tree := r.tree()
	if tree == nil {
		return ""
	}
	searches, kills := searchesOf(tree)
	for _, s := range searches {
		if !s.finds(r.line(r.Command.Text)) {
			continue
		}
		command := "`" + s.name + " -f " + s.pattern + "`"
		other := r.instead(s)
		use := fmt.Sprintf(" Use %s to end what %s started", r.Tools.Signal, r.Tools.Execute)
		if other != "" {
			use += ", or " + other
		}
		use += "."
		switch {
		case s.name == "pkill" && r.endedBy(s.signal):
			return command + " has ended its own shell, because the command line of that shell has the pattern." + use
		case s.name == "pgrep" && slices.ContainsFunc(kills, r.endedBy):
			return command + " has found its own shell, because the command line of that shell has the pattern, and kill has ended it." + use
		case s.name == "pgrep" && p.Signal == "" && r.printsPID():
			if other != "" {
				other = ": use " + other
			}
			return command + " also finds its own shell, since that shell's command line has the pattern" + other + "."
		}
	}
	return ""
}

// line returns the command line of the shell of a command, as far as it is
// known.
func (r Result) line(command string) string {
	if r.Command.Shell == "" {
		return command
	}
	return r.Command.Shell + " -c " + command
}

// endedBy reports whether a signal has ended the shell. A program between the
// shell and the manager may report the signal as an exit code.
func (r Result) endedBy(signal string) bool {
	p := r.Output.Process
	if p.EndedBy == procmgr.CauseSignal {
		return p.Signal == signal
	}
	code, ok := r.code()
	return ok && code > 128 && signalName(strconv.Itoa(code-128)) == signal
}

// printsPID reports whether a line of the output begins with the pid of the
// shell. Not every pgrep finds its own ancestors, so the output has to show it.
func (r Result) printsPID() bool {
	if r.Output.Process.PID <= 0 {
		return false
	}
	pid := strconv.Itoa(r.Output.Process.PID)
	for line := range strings.Lines(r.Output.Text) {
		if first, _, _ := strings.Cut(strings.TrimSpace(line), " "); first == pid {
			return true
		}
	}
	return false
}

// finds reports whether a search finds a command line.
func (s search) finds(line string) bool {
	re, err := regexp.Compile(s.pattern)
	return err == nil && re.MatchString(line)
}

// instead returns a search that does not find itself. Its pattern matches the
// same text and is spelled otherwise: [s]erver. It is "" if the search finds
// the shell by the shell's name.
func (r Result) instead(s search) string {
	if s.finds(r.line("")) {
		return ""
	}
	at := strings.IndexFunc(s.pattern, func(c rune) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' })
	if at < 0 || strings.ContainsAny(s.pattern[:at], `\[{(`) || strings.ContainsRune(s.pattern, '\'') {
		return "a pattern that does not match itself, such as '[p]attern'"
	}
	other := search{pattern: s.pattern[:at] + "[" + s.pattern[at:at+1] + "]" + s.pattern[at+1:]}
	words := s.name + " -f '" + other.pattern + "'"
	if text := r.Command.Text; other.finds(r.line(text[:s.at] + "'" + other.pattern + "'" + text[s.end:])) {
		// The script has the searched text in another place too.
		words += ", in a call of its own"
	}
	return words
}

// searchesOf returns the searches of a script, and the signals that the script
// sends by kill to the processes that it found.
func searchesOf(tree *script.Tree) (searches []search, kills []string) {
	script.Walk(tree.Stmts, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if !ok {
			return true
		}
		args, found := call.Args, slices.ContainsFunc(call.Args, expands)
		for len(args) > 0 && isPrefix(args[0]) {
			found = found || args[0].Lit() == "xargs"
			for args = args[1:]; len(args) > 0 && strings.HasPrefix(args[0].Lit(), "-"); {
				args = args[1:]
			}
		}
		words, literal := literals(args)
		if len(words) == 0 {
			return true
		}
		switch name := words[0][strings.LastIndexByte(words[0], '/')+1:]; name {
		case "kill":
			if found {
				kills = append(kills, signalOf(words[1:]))
			}
		case "pgrep", "pkill":
			if s, place := searchOf(name, words[1:]); place >= 0 && literal {
				s.at, s.end = args[1+place].Pos().Offset(), args[1+place].End().Offset()
				searches = append(searches, s)
			}
		}
		return true
	})
	return searches, kills
}

// isPrefix reports whether a word is a command that runs the words after it.
func isPrefix(w *syntax.Word) bool {
	return slices.Contains([]string{"sudo", "xargs", "command", "exec"}, w.Lit())
}

// expands reports whether a word may be the result of a search, as $(pgrep …)
// and $PID may. $$ and $! are not.
func expands(w *syntax.Word) bool {
	found := false
	syntax.Walk(w, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.CmdSubst:
			found = true
		case *syntax.ParamExp:
			found = found || node.Param != nil && !slices.Contains([]string{"$", "!", "PPID"}, node.Param.Value)
		}
		return !found
	})
	return found
}

// literals returns the text of each word, or "" if the word is not literal. ok
// says that all are literal.
func literals(args []*syntax.Word) (words []string, ok bool) {
	ok = true
	for _, w := range args {
		word, known := script.Literal(w)
		words = append(words, word)
		ok = ok && known
	}
	return words, ok
}

// searchOf reads the arguments of pgrep or pkill, and returns the index of the
// pattern among them. The index is -1 if the search does not look at command
// lines, or if another argument narrows it.
func searchOf(name string, args []string) (s search, place int) {
	s = search{name: name, signal: signalOf(args)}
	full := false
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "" || s.pattern != "":
			return s, -1
		case arg == "--":
		case arg == "--full":
			full = true
		case arg == "--signal" || arg == "-d" || name == "pkill" && (arg == "-u" || arg == "-U"):
			i++ // its value
		case strings.HasPrefix(arg, "--signal="):
		case name == "pkill" && isSignal(arg):
		case arg[0] == '-' && strings.Trim(arg[1:], "falceq") == "":
			full = full || strings.Contains(arg, "f")
		case arg[0] == '-':
			return s, -1
		default:
			s.pattern, place = arg, i
		}
	}
	if !full || s.pattern == "" || len(s.pattern) > maxQuoted || strings.ContainsAny(s.pattern, "`\n") {
		return s, -1
	}
	return s, place
}

// isSignal reports whether an argument is a signal, such as -9, -KILL or
// -SIGKILL.
func isSignal(arg string) bool { return len(arg) > 1 && arg[0] == '-' && signalName(arg[1:]) != "" }

// signalOf returns the signal that kill or pkill sends with some arguments.
func signalOf(args []string) string {
	for i, arg := range args {
		name := ""
		switch {
		case (arg == "-s" || arg == "--signal") && i+1 < len(args):
			name = signalName(args[i+1])
		case strings.HasPrefix(arg, "--signal="):
			name = signalName(strings.TrimPrefix(arg, "--signal="))
		case isSignal(arg):
			name = signalName(arg[1:])
		}
		if name != "" {
			return name
		}
	}
	return "SIGTERM"
}

// signalName returns the name of a signal, given its number or its name with or
// without SIG. It returns "" if there is none.
func signalName(signal string) string {
	if n, err := strconv.Atoi(signal); err == nil {
		name, _, _ := strings.Cut(signals[n], ":")
		return name
	}
	name := "SIG" + strings.TrimPrefix(strings.ToUpper(signal), "SIG")
	for _, known := range signals {
		if known, _, _ := strings.Cut(known, ":"); known == name {
			return name
		}
	}
	return ""
}
