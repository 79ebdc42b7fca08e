package advice

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
)

// printers are the programs that print files, and the options with which they do
// nothing else, such as follow a file, edit it, or show invisible characters.
var printers = map[string]*regexp.Regexp{
	"cat":  regexp.MustCompile(`^-[bnsu]+$`),
	"head": linesOrBytes, "tail": linesOrBytes,
	"sed": regexp.MustCompile(`^-(?:n|ne|e|En|nE|nr|rn)$`),
	"nl":  anyOption, "bat": anyOption, "batcat": anyOption, "less": anyOption, "more": anyOption,
}

var (
	anyOption    = regexp.MustCompile(`^-`)
	linesOrBytes = regexp.MustCompile(`^-(?:[nc]|-lines=?|-bytes=?)?([+-]?\d+|)$`)
	// lineRange matches a sed script that only prints lines by number.
	lineRange = regexp.MustCompile(`^\s*(\d+)\s*(,\s*[+~]?(\d+|\$)\s*)?p\s*(;\s*(\d+\s*(,\s*(\d+|\$)\s*)?p|\d*\s*q)?\s*)*$`)
)

// A printCommand is a command that prints files.
type printCommand struct {
	files []string
	// from is the first line that it prints: 0 is the beginning, and a negative
	// line counts from the end. bytes says that it counts in bytes instead.
	from  int64
	bytes bool
}

// printsFiles names the tool that reads files, if a command only prints files.
func printsFiles(r Result) string {
	code, ok := r.code()
	if r.Tools.ReadFile == "" || r.Reading || r.Background || r.alive() || !ok || code != 0 {
		return ""
	}
	var all []printCommand
	dir := r.WorkDir
	for _, words := range commandsOf(r.Command.Tree()) {
		if words[0] == "cd" {
			dir = joined(dir, words[len(words)-1])
			if inKernel(dir + "/") {
				return ""
			}
			continue
		}
		p, ok := printingOf(words)
		if !ok {
			return ""
		}
		for i := range p.files {
			p.files[i] = joined(dir, p.files[i])
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return ""
	}
	tool := "the " + r.Tools.ReadFile + " tool"
	p := all[0]
	if one := len(all) == 1 && len(p.files) == 1 && !p.bytes && !strings.Contains(p.files[0], "$"); one && r.Tools.ReadCall != nil {
		if call := r.Tools.ReadCall(p.files[0], p.from); call != "" {
			tool = call
		}
	}
	return "To read files use " + tool + ": it shows more of a file and costs less."
}

// commandsOf returns the words of each command of a script. It returns nil unless the
// script is a sequence of simple commands that share the stdin and stdout of the
// script, and whose words run nothing. A word that is not literal is returned as
// written, so it has a $.
func commandsOf(tree *script.Tree) (commands [][]string) {
	if tree == nil {
		return nil
	}
	for _, stmt := range tree.Stmts {
		var chain [][]string
		if !script.Conjuncts(stmt, func(s *syntax.Stmt) bool {
			call, ok := s.Cmd.(*syntax.CallExpr)
			if !ok || !script.Direct(s) || len(call.Args) == 0 || len(call.Assigns) > 0 || !script.Still(call.Args...) ||
				slices.ContainsFunc(s.Redirs, func(r *syntax.Redirect) bool {
					return r.N == nil || r.N.Value != "2" || r.Hdoc != nil || !script.Still(r.Word)
				}) {
				return false
			}
			var words []string
			for _, w := range call.Args {
				word, known := script.Literal(w)
				if !known {
					word = tree.Between(w.Pos(), w.End())
				}
				words = append(words, word)
			}
			chain = append(chain, words)
			return true
		}) {
			return nil
		}
		slices.Reverse(chain) // Conjuncts begins with the last one
		commands = append(commands, chain...)
	}
	return commands
}

// printingOf returns what a command prints. ok is false if it may do anything else.
func printingOf(words []string) (p printCommand, ok bool) {
	allowed, number := printers[words[0]], ""
	if allowed == nil {
		return p, false
	}
	ranged := words[0] != "sed" // else the first word that is no option says which lines
	for i := 1; i < len(words); i++ {
		w := words[i]
		switch {
		case w == "" || w == "-" || w[0] == '+' || inKernel(w):
			return p, false // stdin, or a file that a tool for files cannot read
		case w[0] == '-':
			m := allowed.FindStringSubmatch(w)
			if m == nil {
				return p, false
			}
			if len(m) == 2 { // of head and tail
				p.bytes = p.bytes || strings.ContainsAny(w, "bc")
				if number = m[1]; number == "" {
					if i++; i == len(words) {
						return p, false
					}
					number = words[i]
				}
			}
		case !ranged:
			m := lineRange.FindStringSubmatch(w)
			if m == nil || !slices.ContainsFunc(words[1:i], func(option string) bool { return strings.Contains(option, "n") }) {
				return p, false
			}
			number, ranged = m[1], true
		default:
			p.files = append(p.files, w)
		}
	}
	n, _ := strconv.ParseInt(strings.TrimLeft(number, "+-"), 10, 32)
	switch {
	case words[0] == "sed", words[0] == "tail" && strings.HasPrefix(number, "+"):
		p.from = n
	case words[0] == "tail" && number == "":
		p.from = -10
	case words[0] == "tail":
		p.from = -n
	}
	return p, len(p.files) > 0
}

// joined returns a path as it is from a directory.
func joined(dir, to string) string {
	if dir == "" || path.IsAbs(to) || strings.HasPrefix(to, "~") || strings.HasPrefix(to, "$") {
		return to
	}
	return path.Join(dir, to)
}

// inKernel reports whether a path is of a device, or of a file in which the
// kernel describes itself or processes. Those files have size 0.
func inKernel(path string) bool {
	return strings.HasPrefix(path, "/dev/") || strings.HasPrefix(path, "/proc/") || strings.HasPrefix(path, "/sys/")
}

// PrintsFiles reports whether a command has nothing but programs that print files, in
// a pipeline or not. It doesn't matter which files, or how much of them.
func PrintsFiles(command *script.Source) bool {
	tree := command.Tree()
	if tree == nil {
		return false
	}
	prints, only := false, true
	script.Walk(tree.Stmts, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			name := call.Args[0].Lit()
			dumps := printers[name] != nil || slices.Contains([]string{"tac", "zcat", "xxd", "od", "hexdump"}, name)
			prints = prints || dumps
			only = only && (dumps || slices.Contains([]string{"cd", "echo", "printf", "true"}, name))
		}
		return only
	})
	return prints && only
}
