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

// A bashism is a construct that bash knows and a POSIX shell does not.
type bashism struct {
	name    string // as the note writes it
	does    string // what sh does with it
	instead string // what to write, "" if nothing short does
	// silent: sh prints no error, and the script goes on with another result.
	silent bool
	// ash: the shell of BusyBox does as bash does.
	ash bool
}

const (
	notFound = "is a command that is not found"
	noSyntax = "is a syntax error"
	isEmpty  = "is empty"
	asItIs   = "stays as it is"
	endsIt   = "is an error that ends the script"
)

// bashism says what the shell, which is not bash, does with a command that was
// written for bash. It also names bashisms for which most shells print an
// error: a model that has used one bashism will use others.
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
	found := bashismsOf(tree, shell, r)
	if len(found) == 0 {
		return ""
	}
	first := found[0]
	note := fmt.Sprintf("The shell is %s, not bash. In it, `%s` %s", shell, first.name, first.does)
	if first.instead != "" {
		note += "; write " + first.instead
	}
	note += "."
	if rest := found[1:min(len(found), maxBashisms)]; len(rest) > 0 {
		names := make([]string, len(rest))
		for i, b := range rest {
			names[i] = "`" + b.name + "`"
		}
		note += " Also bash's: " + strings.Join(names, ", ") + "."
	}
	return note
}

// bashismsOf returns the bashisms of a script, each once. Those without an
// error message come first.
func bashismsOf(tree *script.Tree, shell string, r Result) []bashism {
	own := functions(tree)
	var found []bashism
	add := func(all ...bashism) {
		for _, b := range all {
			switch {
			case b.name == "", b.ash && shell == "ash":
			case len(b.name) > maxQuoted || strings.ContainsAny(b.name, "`\n"): // part of the name comes from the script
			case slices.ContainsFunc(found, func(f bashism) bool { return f.name == b.name }):
			default:
				found = append(found, b)
			}
		}
	}
	script.Walk(tree.Stmts, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.CallExpr:
			for _, w := range node.Args {
				add(ofBraces(w))
			}
			for _, a := range node.Assigns {
				add(ofAssign(a))
			}
			if len(node.Args) > 0 {
				if name, ok := script.Literal(node.Args[0]); ok && !slices.Contains(own, name) {
					add(ofCall(name, node.Args, shell, r)...)
				}
			}
		case *syntax.WordIter:
			for _, w := range node.Items {
				add(ofBraces(w))
			}
		default:
			add(ofNode(node, shell))
		}
		return true
	})
	slices.SortStableFunc(found, func(a, b bashism) int {
		switch {
		case a.silent == b.silent:
			return 0
		case a.silent:
			return -1
		}
		return 1
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

// ofNode returns the bashism of a node, by the node's kind.
func ofNode(node syntax.Node, shell string) bashism {
	switch node := node.(type) {
	case *syntax.Redirect:
		return ofRedirect(node, shell)
	case *syntax.BinaryCmd:
		if node.Op == syntax.PipeAll {
			return bashism{name: "|&", does: noSyntax, instead: "2>&1 |"}
		}
	case *syntax.TestClause:
		return bashism{name: "[[ ]]", does: notFound + ", and so false", instead: "[ ]", ash: true}
	case *syntax.ArithmCmd:
		return bashism{name: "(( ))", does: "runs its words as a command, and > in it makes a file", instead: "[ ] or $(( ))"}
	case *syntax.LetClause:
		return bashism{name: "let", does: notFound, instead: "NAME=$((…))", ash: true}
	case *syntax.CStyleLoop:
		return bashism{name: "for ((", does: noSyntax, instead: "a while loop with [ ]"}
	case *syntax.ForClause:
		if node.Select {
			return bashism{name: "select", does: noSyntax}
		}
	case *syntax.CaseItem:
		if node.Op == syntax.Fallthrough || node.Op == syntax.Resume {
			return bashism{name: node.Op.String(), does: noSyntax, instead: ";;"}
		}
	case *syntax.FuncDecl:
		return ofFunction(node)
	case *syntax.DeclClause:
		return ofDeclaration(node)
	case *syntax.CoprocClause:
		return bashism{name: "coproc", does: notFound}
	case *syntax.ProcSubst:
		return bashism{name: node.Op.String() + "…)", does: noSyntax, instead: "a file or a pipe", ash: true}
	case *syntax.SglQuoted:
		if node.Dollar {
			return bashism{name: "$'…'", does: "is a $ and an ordinary '…', whose escapes stay as they are", instead: `"$(printf '…')"`, silent: true, ash: true}
		}
	case *syntax.DblQuoted:
		if node.Dollar {
			return bashism{name: `$"…"`, does: `is a $ and an ordinary "…"`, instead: `"…"`, silent: true}
		}
	case *syntax.CmdSubst:
		if readsFile(node) {
			return bashism{name: "$(<FILE)", does: isEmpty, instead: "$(cat FILE)", silent: true}
		}
	case *syntax.ArithmExp:
		if node.Bracket {
			return bashism{name: "$[ ]", does: asItIs, instead: "$(( ))", silent: true}
		}
	case *syntax.BinaryArithm:
		if node.Op == syntax.Pow {
			return bashism{name: "**", does: endsIt, ash: true}
		}
	case *syntax.UnaryArithm:
		if node.Op == syntax.Inc || node.Op == syntax.Dec {
			return bashism{name: node.Op.String(), does: endsIt, instead: "NAME=$((NAME + 1))", ash: true}
		}
	case *syntax.ParamExp:
		return ofParameter(node)
	}
	return bashism{}
}

func ofRedirect(r *syntax.Redirect, shell string) bashism {
	switch word, ok := script.Literal(r.Word); {
	case r.N != nil && strings.HasPrefix(r.N.Value, "{"):
		return bashism{name: r.N.Value + r.Op.String(), does: "is an argument and a redirection", instead: "a number", silent: true}
	case r.Op == syntax.RdrAll:
		return bashism{name: "&>", does: "runs the command in the background, empties the file and succeeds", instead: ">FILE 2>&1", silent: true, ash: true}
	case r.Op == syntax.AppAll && shell == "ash":
		return bashism{name: "&>>", does: noSyntax, instead: ">>FILE 2>&1"}
	case r.Op == syntax.AppAll:
		return bashism{name: "&>>", does: "runs the command in the background and succeeds", instead: ">>FILE 2>&1", silent: true}
	case r.Op == syntax.WordHdoc:
		return bashism{name: "<<<", does: noSyntax, instead: "printf '%s\\n' … |"}
	case r.Op == syntax.DplOut && ok && word != "" && word != "-" && strings.Trim(word, "0123456789") != "":
		return bashism{name: ">&FILE", does: noSyntax, instead: ">FILE 2>&1", ash: true}
	}
	return bashism{}
}

// identifier matches a name that every shell accepts for a function.
var identifier = regexp.MustCompile(`^\w+$`)

func ofFunction(f *syntax.FuncDecl) bashism {
	switch {
	case f.Name != nil && !identifier.MatchString(f.Name.Value):
		return bashism{name: f.Name.Value + "()", does: noSyntax + " because of its name", instead: "letters, digits and _"}
	case f.RsrvWord:
		return bashism{name: "function NAME", does: noSyntax, instead: "NAME()", ash: true}
	}
	return bashism{}
}

func ofDeclaration(d *syntax.DeclClause) bashism {
	options := ""
	for _, a := range d.Args {
		if a.Array != nil || a.Index != nil {
			return arrays
		}
		if a.Append {
			return appends
		}
		if a.Name == nil && a.Value != nil {
			if word, _ := script.Literal(a.Value); len(word) > 1 && (word[0] == '-' || word[0] == '+') {
				options += word[1:]
			}
		}
	}
	name := d.Variant.Value
	switch name {
	case "declare", "typeset", "nameref":
		return bashism{name: name, does: notFound, instead: "NAME=VALUE"}
	case "local":
		if options != "" {
			return bashism{name: "local -" + options[:1], does: endsIt, instead: "local NAME"}
		}
	case "export", "readonly":
		if i := strings.IndexAny(options, "faA"); i >= 0 {
			return bashism{name: name + " -" + options[i:i+1], does: endsIt}
		}
	}
	return bashism{}
}

var (
	arrays  = bashism{name: "NAME=(…)", does: noSyntax + ": it has no arrays", instead: `set -- … and "$@"`}
	appends = bashism{name: "NAME+=", does: notFound, instead: `NAME="$NAME…"`}
)

func ofAssign(a *syntax.Assign) bashism {
	switch {
	case a.Array != nil:
		return arrays
	case a.Index != nil:
		return bashism{name: "NAME[…]=", does: notFound + ": it has no arrays"}
	case a.Append:
		return appends
	}
	return bashism{}
}

// ofParameter returns the bashism in $NAME or ${NAME…}.
func ofParameter(p *syntax.ParamExp) bashism {
	const bad = `ends the script with "bad substitution"`
	switch {
	case p.Param == nil:
		return bashism{}
	case p.Index != nil:
		return bashism{name: "${NAME[…]}", does: bad + ": it has no arrays"}
	case p.Excl:
		return bashism{name: "${!NAME}", does: bad}
	case p.Repl != nil:
		return bashism{name: "${NAME/…}", does: bad, instead: "sed", ash: true}
	case p.Slice != nil:
		return bashism{name: "${NAME:…}", does: bad, instead: "cut -c", ash: true}
	case p.Exp != nil && slices.Contains(caseOperators, p.Exp.Op):
		return bashism{name: "${NAME" + p.Exp.Op.String() + "}", does: bad, instead: "tr"}
	case p.Exp != nil && p.Exp.Op == syntax.OtherParamOps:
		return bashism{name: "${NAME@…}", does: bad}
	}
	b, ok := variables[p.Param.Value]
	if !ok || p.Length {
		return bashism{}
	}
	b.name, b.does, b.silent = "$"+p.Param.Value, isEmpty, true
	return b
}

var caseOperators = []syntax.ParExpOperator{syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll}

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
			found = bashism{name: "{a,b}", does: asItIs, instead: "each word out", silent: true}
			if part.Sequence {
				found = bashism{name: "{1..3}", does: asItIs, instead: "$(seq 1 3)", silent: true}
			}
		}
	}
	return found
}

// unknown has the commands that only bash has built in, and what to write
// instead.
var unknown = map[string]bashism{
	"source":    {instead: ". FILE", ash: true},
	"pushd":     {instead: "cd"},
	"popd":      {instead: "cd"},
	"dirs":      {},
	"shopt":     {},
	"mapfile":   {instead: "while read -r"},
	"readarray": {instead: "while read -r"},
	"disown":    {instead: "nohup in front"},
	"builtin":   {},
	"enable":    {},
	"caller":    {},
	"compgen":   {},
	"complete":  {},
}

// ofCall returns the bashisms in a call of a command by its name.
func ofCall(name string, args []*syntax.Word, shell string, r Result) []bashism {
	if b, ok := unknown[name]; ok {
		b.name, b.does = name, notFound
		return []bashism{b}
	}
	words := make([]string, len(args)-1) // "" for a word that is not literal
	for i, w := range args[1:] {
		words[i], _ = script.Literal(w)
	}
	// option returns the first of these short options among the words
	// before the operands, or "".
	option := func(letters string) string {
		for _, w := range words {
			if len(w) < 2 || w[0] != '-' || w == "--" {
				return ""
			}
			if i := strings.IndexAny(w[1:], letters); i >= 0 {
				return w[1+i : 2+i]
			}
		}
		return ""
	}
	one := func(b bashism) []bashism { return []bashism{b} }
	switch name {
	case "[", "test":
		if slices.Contains(words, "==") {
			return one(bashism{name: "==", does: "in [ ] is an error, and so false", instead: "=", ash: true})
		}
		if len(words) > 1 && (words[0] == "-v" || words[0] == "!" && words[1] == "-v") {
			return one(bashism{name: "[ -v NAME ]", does: "is an error, and so false", instead: `[ -n "${NAME+x}" ]`})
		}
	case "echo":
		return one(ofEcho(args[1:], words))
	case "printf":
		return ofPrintf(words, shell)
	case "read":
		if o := option("aNei"); o != "" {
			return one(bashism{name: "read -" + o, does: "is an error"})
		}
		if o := option("ntdsu"); o != "" {
			return one(bashism{name: "read -" + o, does: "is an error", ash: true})
		}
	case "trap":
		for _, signal := range words[min(1, len(words)):] {
			if signal == "ERR" || signal == "DEBUG" || signal == "RETURN" {
				return one(bashism{name: "trap … " + signal, does: "is an error", ash: signal == "ERR"})
			}
		}
	case "kill":
		if len(words) > 0 && strings.HasPrefix(words[0], "-SIG") {
			return one(bashism{name: "kill " + words[0], does: "is an error", instead: "-" + words[0][len("-SIG"):], ash: true})
		}
	case "type":
		if o := option("tpPa"); o != "" {
			return one(bashism{name: "type -" + o, does: "takes the option for a command", instead: "command -v", ash: true})
		}
	case "wait":
		if option("n") != "" {
			return one(bashism{name: "wait -n", does: endsIt, ash: true})
		}
	case "set":
		// POSIX has pipefail since 2024, and newer shells have it too.
		if r.Failed && strings.Contains(r.Output.Text, "pipefail") && slices.Contains(words, "pipefail") {
			return one(bashism{name: "set -o pipefail", does: endsIt + ": leave it out, and run on its own what must not fail", ash: true})
		}
	}
	return nil
}

// escapes matches the escapes that the echo of dash interprets and the echo of
// bash does not.
var escapes = regexp.MustCompile(`\\[abcfnrtv0\\]`)

func ofEcho(args []*syntax.Word, words []string) bashism {
	if len(words) > 0 && len(words[0]) > 1 && words[0][0] == '-' && strings.Trim(words[0][1:], "neE") == "" && words[0] != "-n" {
		return bashism{name: "echo " + words[0], does: "prints the option as well", instead: "printf '%b\\n'", silent: true, ash: true}
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
				return bashism{name: "echo " + found, does: "makes a character of the escape, which bash prints as it is", instead: "printf '%s\\n'", silent: true, ash: true}
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

func ofPrintf(words []string, shell string) (found []bashism) {
	if len(words) == 0 {
		return nil
	}
	format := words[0]
	switch {
	case format == "-v" && shell == "ash":
		return []bashism{{name: "printf -v", does: "prints -v", instead: "NAME=$(printf …)", silent: true}}
	case format == "-v":
		return []bashism{{name: "printf -v", does: "is an error", instead: "NAME=$(printf …)"}}
	case strings.Contains(format, "%q"):
		return []bashism{{name: "printf %q", does: "is an error"}}
	case strings.Contains(format, "%("):
		return []bashism{{name: "printf %(…)T", does: "is an error", instead: "date"}}
	case hexEscapes.MatchString(format):
		return []bashism{{name: `printf \x`, does: "prints the escape as it is", instead: `octal escapes such as \101`, silent: true, ash: true}}
	case unicodeEscapes.MatchString(format):
		return []bashism{{name: `printf \u`, does: "prints the escape as it is", instead: "the character itself", silent: true}}
	}
	return nil
}
