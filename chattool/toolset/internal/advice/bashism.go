package advice

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"mvdan.cc/sh/v3/syntax"
)

// maxBashisms is how many bashisms of one script a note names.
const maxBashisms = 4

// A bashism is a construct that bash knows and a POSIX shell does not. The shell
// prints no error for it, and the script goes on with another result.
type bashism struct {
	name    string // as the note writes it
	does    string // what sh does with it
	instead string // what to write, "" if nothing short does
	ash     bool   // the shell of BusyBox does as bash does, or prints an error
}

const (
	isEmpty = "is empty"
	asItIs  = "stays as it is"
)

// bashism says what the shell, which is not bash, does with a command that was
// written for bash. If the shell prints an error, as for [[ ]], a model reads that.
func (r Result) bashism() string {
	shell, text := r.Command.Shell, r.Command.Text
	switch {
	case shell != "sh" && shell != "dash" && shell != "ash":
		return ""
	case len(text) > maxAdvised || r.Reading && !r.Failed:
		return ""
	case !strings.ContainsAny(text, " \t\n;&|<>()$`{["): // a single word
		return ""
	case strings.Contains(text, "BASH_VERSION"): // the script knows that there are other shells
		return ""
	}
	tree := script.Parse(text, "bash")
	if tree == nil {
		return ""
	}
	found := bashismsOf(tree, shell)
	if len(found) == 0 {
		return ""
	}
	first := found[0]
	note := fmt.Sprintf("The shell is %s, not bash. In it, %s %s", shell, quoted(first.name), first.does)
	if first.instead != "" {
		note += "; write " + first.instead
	}
	note += "."
	if rest := found[1:min(len(found), maxBashisms)]; len(rest) > 0 {
		names := make([]string, len(rest))
		for i, b := range rest {
			names[i] = quoted(b.name)
		}
		note += " Also bash's: " + strings.Join(names, ", ") + "."
	}
	return note
}

// bashismsOf returns the bashisms of a script, each once.
func bashismsOf(tree *script.Tree, shell string) []bashism {
	var found []bashism
	add := func(b bashism) {
		switch {
		case b.name == "", b.ash && shell == "ash":
		case len(b.name) > maxQuoted || strings.ContainsAny(b.name, "`\n"): // part of the name comes from the script
		case slices.ContainsFunc(found, func(f bashism) bool { return f.name == b.name }):
		default:
			found = append(found, b)
		}
	}
	script.Walk(tree.Stmts, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.CallExpr:
			for _, w := range node.Args {
				add(ofBraces(w))
			}
			if len(node.Args) > 0 {
				add(ofCall(node.Args, shell))
			}
		case *syntax.WordIter:
			for _, w := range node.Items {
				add(ofBraces(w))
			}
		default:
			add(ofNode(node))
		}
		return true
	})
	return found
}

// ofNode returns the bashism of a node, by the node's kind.
func ofNode(node syntax.Node) bashism {
	switch node := node.(type) {
	case *syntax.Redirect:
		switch {
		case node.N != nil && strings.HasPrefix(node.N.Value, "{"):
			return bashism{name: node.N.Value + node.Op.String(), does: "is an argument and a redirection", instead: "a number"}
		case node.Op == syntax.RdrAll:
			return bashism{name: "&>", does: "runs the command in the background, empties the file and succeeds", instead: ">FILE 2>&1", ash: true}
		case node.Op == syntax.AppAll:
			return bashism{name: "&>>", does: "runs the command in the background and succeeds", instead: ">>FILE 2>&1", ash: true}
		}
	case *syntax.SglQuoted:
		if node.Dollar {
			return bashism{name: "$'…'", does: "is a $ and an ordinary '…', whose escapes stay as they are", instead: `"$(printf '…')"`, ash: true}
		}
	case *syntax.DblQuoted:
		if node.Dollar {
			return bashism{name: `$"…"`, does: `is a $ and an ordinary "…"`, instead: `"…"`}
		}
	case *syntax.CmdSubst:
		if readsFile(node) {
			return bashism{name: "$(<FILE)", does: isEmpty, instead: "$(cat FILE)"}
		}
	case *syntax.ArithmExp:
		if node.Bracket {
			return bashism{name: "$[ ]", does: asItIs, instead: "$(( ))"}
		}
	case *syntax.ParamExp:
		if node.Param == nil || node.Length {
			return bashism{}
		}
		if b, ok := variables[node.Param.Value]; ok && node.Index == nil {
			b.name, b.does = "$"+node.Param.Value, isEmpty
			return b
		}
	}
	return bashism{}
}

// variables are the variables that bash sets and that no environment has.
var variables = map[string]bashism{
	"RANDOM":        {instead: "$(od -An -N2 -tu2 /dev/urandom)", ash: true},
	"UID":           {instead: "$(id -u)"},
	"EUID":          {instead: "$(id -u)"},
	"SECONDS":       {instead: "$(date +%s)"},
	"EPOCHSECONDS":  {instead: "$(date +%s)", ash: true},
	"EPOCHREALTIME": {instead: "$(date +%s.%N)", ash: true},
	"BASHPID":       {instead: "$$"},
	"FUNCNAME":      {ash: true},
	"PIPESTATUS":    {},
	"BASH_SOURCE":   {},
}

// readsFile reports whether a substitution is $(<FILE).
func readsFile(c *syntax.CmdSubst) bool {
	if len(c.Stmts) != 1 || c.Stmts[0].Cmd != nil || len(c.Stmts[0].Redirs) != 1 {
		return false
	}
	return c.Stmts[0].Redirs[0].Op == syntax.RdrIn
}

// ofBraces returns the bashism in a word that has {a,b} or {1..3}.
func ofBraces(w *syntax.Word) bashism {
	split := &syntax.Word{Parts: slices.Clone(w.Parts)}
	if !syntax.SplitBraces(split) {
		return bashism{}
	}
	var found bashism
	for _, part := range split.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if strings.Contains(part.Value, `\`) {
				return bashism{} // one of the braces may be escaped
			}
		case *syntax.BraceExp:
			found = bashism{name: "{a,b}", does: asItIs, instead: "each word out"}
			if part.Sequence {
				found = bashism{name: "{1..3}", does: asItIs, instead: "$(seq 1 3)"}
			}
		}
	}
	return found
}

// ofCall returns the bashism in a call of echo or printf.
func ofCall(args []*syntax.Word, shell string) bashism {
	words, _ := literals(args)
	switch {
	case words[0] == "echo":
		return ofEcho(args[1:], words[1:])
	case words[0] == "printf" && len(args) > 1:
		return ofPrintf(words[1], shell)
	}
	return bashism{}
}

// escapes matches the escapes that the echo of dash interprets and the echo of
// bash does not.
var escapes = regexp.MustCompile(`\\[abcfnrtv0\\]`)

func ofEcho(args []*syntax.Word, words []string) bashism {
	if len(words) > 0 && len(words[0]) > 1 && words[0][0] == '-' && strings.Trim(words[0][1:], "neE") == "" && words[0] != "-n" {
		return bashism{name: "echo " + words[0], does: "prints the option as well", instead: "printf '%b\\n'", ash: true}
	}
	for _, w := range args {
		for _, part := range w.Parts {
			text := ""
			switch part := part.(type) {
			case *syntax.SglQuoted:
				text = part.Value
			case *syntax.DblQuoted:
				for _, part := range part.Parts {
					if lit, ok := part.(*syntax.Lit); ok {
						text += unquoted.Replace(lit.Value)
					}
				}
			}
			if found := escapes.FindString(text); found != "" {
				return bashism{name: "echo " + found, does: "makes a character of the escape, which bash prints as it is", instead: "printf '%s\\n'", ash: true}
			}
		}
	}
	return bashism{}
}

// unquoted removes the backslashes that double quotes remove.
var unquoted = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\$`, `$`, "\\`", "`")

var (
	hexEscapes     = regexp.MustCompile(`(?:^|[^\\])(?:\\\\)*\\x[0-9a-fA-F]`)
	unicodeEscapes = regexp.MustCompile(`(?:^|[^\\])(?:\\\\)*\\[uU][0-9a-fA-F]`)
)

func ofPrintf(format, shell string) bashism {
	switch {
	case format == "-v" && shell == "ash":
		return bashism{name: "printf -v", does: "prints -v", instead: "NAME=$(printf …)"}
	case hexEscapes.MatchString(format):
		return bashism{name: `printf \x`, does: "prints the escape as it is", instead: `octal escapes such as \101`, ash: true}
	case unicodeEscapes.MatchString(format):
		return bashism{name: `printf \u`, does: "prints the escape as it is", instead: "the character itself"}
	}
	return bashism{}
}
