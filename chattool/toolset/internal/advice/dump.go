package advice

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"github.com/toolproc/toolproc/procmgr"
)

// maxDump is the longest command that dumpsFiles looks at, in bytes.
const maxDump = 4 << 10

// dump names the tool that reads files, if a command only prints files.
func (r Result) dump() string {
	if r.Tools.ReadFile == "" || r.Reading || r.Background || r.Output.Process.State != procmgr.Exited || r.Failed || !dumpsFiles(r.Command) {
		return ""
	}
	if call := r.readCall(); r.Tools.ReadFileCall && call != "" {
		return "To read files use " + call + ": it shows more of a file and costs less."
	}
	return "To read files use the " + r.Tools.ReadFile + " tool: it shows more of a file and costs less."
}

// readCall returns the call that reads what a command has printed, or "" if the
// command prints several files, or one whose name is not known.
func (r Result) readCall() string {
	var calls []*syntax.CallExpr // in the order in which they run
	for _, stmt := range r.Command.Tree().Stmts {
		var chain []*syntax.CallExpr
		script.Conjuncts(stmt, func(s *syntax.Stmt) bool {
			chain = append(chain, s.Cmd.(*syntax.CallExpr)) // dumpsFiles has seen it
			return true
		})
		slices.Reverse(chain)
		calls = append(calls, chain...)
	}
	dir := r.WorkDir
	for _, cd := range calls[:len(calls)-1] {
		if !script.IsCd(cd) || len(cd.Args) != 2 {
			return ""
		}
		to, known := script.Literal(cd.Args[1])
		if !known || to == "-" {
			return ""
		}
		dir = joined(dir, to)
	}
	words := calls[len(calls)-1].Args
	file, offset, ok := readOf(words)
	if !ok {
		return ""
	}
	call := struct {
		Path   string `json:"path"`
		Offset int64  `json:"offset,omitempty"`
	}{joined(dir, file), offset}
	return r.Tools.ReadFile + " " + wording.Encode(call)
}

// joined returns a path as it is from a directory.
func joined(dir, to string) string {
	if dir == "" || path.IsAbs(to) || strings.HasPrefix(to, "~") {
		return to
	}
	return path.Join(dir, to)
}

// firstLine matches a sed script that prints one range of lines.
var firstLine = regexp.MustCompile(`^\s*(\d+)\s*(,\s*(\d+|\$)\s*)?p\s*$`)

// readOf returns the one file that a command prints, and the line from which on it
// does: 0 is the beginning, and a negative line counts from the end.
func readOf(args []*syntax.Word) (file string, offset int64, ok bool) {
	if len(args) == 0 {
		return "", 0, false
	}
	name := args[0].Lit()
	number := ""
	for i := 1; i < len(args); i++ {
		word, known := script.Literal(args[i])
		switch {
		case !known:
			return "", 0, false
		case name == "tail" && tailLines.MatchString(word):
			number = tailLines.FindStringSubmatch(word)[2]
			if number == "" && i+1 < len(args) {
				i++
				number, _ = script.Literal(args[i])
			}
		case name == "head" && (word == "-n" || word == "--lines"):
			i++ // it begins at the beginning all the same
		case len(word) > 1 && word[0] == '-':
			if strings.Contains(word, "c") && (name == "head" || name == "tail") || strings.Contains(word, "e") && name == "sed" {
				return "", 0, false // bytes, or a script that is an option
			}
		case name == "sed" && number == "":
			found := firstLine.FindStringSubmatch(word)
			if found == nil {
				return "", 0, false
			}
			number = found[1]
		case file != "":
			return "", 0, false
		default:
			file = word
		}
	}
	if name == "tail" && number == "" {
		number = "10"
	}
	if number != "" {
		n, err := strconv.ParseInt(strings.TrimLeft(number, "+-"), 10, 32)
		if err != nil {
			return "", 0, false
		}
		if offset = n; name == "tail" && number[0] != '+' {
			offset = -n
		}
	}
	return file, offset, file != ""
}

// tailLines matches an option of tail for a number of lines.
var tailLines = regexp.MustCompile(`^-(n|-lines=?)?([+-]?\d*)$`)

// printers are the programs of which a command that only prints files consists.
var printers = map[string]bool{
	"cat": true, "tac": true, "nl": true, "head": true, "tail": true, "sed": true, "bat": true, "batcat": true, "less": true, "more": true, "zcat": true, "xxd": true, "od": true, "hexdump": true,
	"cd": false, "echo": false, "printf": false, "true": false,
}

// PrintsFiles reports whether a command has nothing but programs that print files,
// in a pipeline or not. Unlike for the note, it does not matter which files these are.
func PrintsFiles(command *script.Source) bool {
	if len(command.Text) > maxDump {
		return false
	}
	tree := command.Tree()
	if tree == nil {
		return false
	}
	prints, only := false, true
	for _, stmt := range tree.Stmts {
		syntax.Walk(stmt, func(n syntax.Node) bool {
			if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
				dumps, known := printers[call.Args[0].Lit()]
				prints, only = prints || dumps, only && known
			}
			return only
		})
	}
	return prints && only
}

// dumpsFiles reports whether a command has nothing but cd and commands that
// print files.
func dumpsFiles(command *script.Source) bool {
	if len(command.Text) > maxDump || containsAny(command.Text, "|", "`", "$(", "<") ||
		!containsAny(command.Text, "cat", "head", "tail", "sed", "bat", "less", "more", "nl") {
		return false
	}
	tree := command.Tree()
	if tree == nil {
		return false
	}
	dumps := false
	for _, stmt := range tree.Stmts {
		if !script.Conjuncts(stmt, func(s *syntax.Stmt) bool {
			call, ok := s.Cmd.(*syntax.CallExpr)
			if !ok || !script.Direct(s) || !onlyStderr(s.Redirs) {
				return false
			}
			if script.IsCd(call) {
				to, _ := script.Literal(call.Args[len(call.Args)-1])
				return !inKernel(to + "/")
			}
			dumps = true
			return len(call.Assigns) == 0 && printsFile(call.Args)
		}) {
			return false
		}
	}
	return dumps
}

// onlyStderr reports whether redirections leave stdin and stdout alone, as
// 2>/dev/null and 2>&1 do.
func onlyStderr(redirs []*syntax.Redirect) bool {
	return !slices.ContainsFunc(redirs, func(r *syntax.Redirect) bool {
		return r.N == nil || r.N.Value != "2" || r.Hdoc != nil || !script.Still(r.Word)
	})
}

// A dumper is a command that prints files.
type dumper struct {
	// values are the options whose value is the next word.
	values []string
	// never are the options, short and long, with which the command does
	// something else: it watches a file, edits it, or shows invisible
	// characters.
	never []string
	// script is set if the first word that is no option, or the value of
	// -e, says which lines to print.
	script bool
}

var dumpers = map[string]dumper{
	"cat":    {never: []string{"A", "e", "E", "t", "T", "v", "--show-all", "--show-ends", "--show-tabs", "--show-nonprinting"}},
	"nl":     {values: []string{"-b", "-d", "-f", "-h", "-i", "-l", "-n", "-s", "-v", "-w"}},
	"head":   {values: []string{"-n", "-c", "--lines", "--bytes"}},
	"tail":   {values: []string{"-n", "-c", "--lines", "--bytes"}, never: []string{"f", "F", "s", "--follow", "--retry", "--pid", "--sleep-interval"}},
	"sed":    {values: []string{"-e", "--expression"}, never: []string{"i", "f", "--in-place", "--file"}, script: true},
	"bat":    {values: []string{"-l", "-r", "-H", "--language", "--line-range", "--style", "--theme", "--highlight-line", "--color", "--paging"}},
	"batcat": {values: []string{"-l", "-r", "-H", "--language", "--line-range", "--style", "--theme", "--highlight-line", "--color", "--paging"}},
	"less":   {never: []string{"+"}},
	"more":   {never: []string{"+"}},
}

// lineRange matches a sed script that only prints lines by number.
var lineRange = regexp.MustCompile(`^\s*(\d+|\$)\s*(,\s*[+~]?(\d+|\$)\s*)?p\s*(;\s*((\d+|\$)\s*(,\s*[+~]?(\d+|\$)\s*)?p|\d+\s*q|q)?\s*)*$`)

// printsFile reports whether a command prints at least one file and does
// nothing else.
func printsFile(args []*syntax.Word) bool {
	if len(args) == 0 || !script.StillWords(args) {
		return false
	}
	d, ok := dumpers[args[0].Lit()]
	if !ok {
		return false
	}
	var files int
	var expressions []string
	quiet, options := false, true
	words := args[1:]
	for len(words) > 0 {
		word, known := script.Literal(words[0])
		words = words[1:]
		switch {
		case known && options && word == "--":
			options = false
		case known && options && len(word) > 1 && (word[0] == '-' || word[0] == '+'):
			if d.forbids(word) {
				return false
			}
			quiet = quiet || word == "--quiet" || word == "--silent" || word[1] != '-' && strings.Contains(word, "n")
			if value, ok := strings.CutPrefix(word, "--expression="); ok {
				expressions = append(expressions, value)
			}
			if d.takesValue(word) {
				if len(words) == 0 {
					return false
				}
				value, _ := script.Literal(words[0])
				expressions = append(expressions, value)
				words = words[1:]
			}
		case known && (word == "-" || inKernel(word)):
			return false // stdin, or a file that a tool for files cannot read
		case d.script && len(expressions) == 0:
			expressions = append(expressions, word)
		default:
			files++
		}
	}
	if d.script && (!quiet || slices.ContainsFunc(expressions, func(e string) bool { return !lineRange.MatchString(e) })) {
		return false
	}
	return files > 0
}

// inKernel reports whether a path is of a device, or of a file in which the
// kernel describes itself or processes. Those files have size 0.
func inKernel(path string) bool {
	return strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/") || strings.HasPrefix(path, "/sys/")
}

// forbids reports whether an option makes the command do something else than
// print a file. In a word with several short options, the first that takes a
// value takes the rest of the word.
func (d dumper) forbids(option string) bool {
	name, _, _ := strings.Cut(option, "=")
	if strings.HasPrefix(option, "--") {
		return slices.Contains(d.never, name)
	}
	if option[0] == '+' {
		return slices.Contains(d.never, "+")
	}
	for _, c := range option[1:] {
		if slices.Contains(d.never, string(c)) {
			return true
		}
		if slices.Contains(d.values, "-"+string(c)) {
			return false
		}
	}
	return false
}

// takesValue reports whether the word after an option belongs to it.
func (d dumper) takesValue(option string) bool {
	if strings.HasPrefix(option, "--") {
		return slices.Contains(d.values, option)
	}
	for i, c := range option[1:] {
		if slices.Contains(d.values, "-"+string(c)) {
			return i+2 == len(option) // else the value is the rest of the word
		}
	}
	return false
}
