package shellfacts

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A variable is what all assignments of a text make of a name, whatever their order.
type variable struct {
	set     int  // how many there are
	other   bool // one of them is no integer
	strange bool // it may have a type, such as an array or a reference
	array   bool // it may be an array
}

// A function is one definition of a name.
type function struct {
	body *syntax.Stmt
	decl *syntax.FuncDecl
}

// A unit is a text that has been parsed, with what all of it tells.
type unit struct {
	text   string
	line   int   // of its first line, if it is a text within another; else 0
	parent *unit // the text around it in the same shell, or nil
	names  map[string]*variable
	funcs  map[string][]function
	open   bool                 // a variable may be assigned without being named
	sure   map[syntax.Node]bool // what runs before all that follows it
	values map[string]string    // of the variables that have one
	made   map[string]bool      // functions that are certainly defined by now
}

// survey finds the names of a text.
func survey(text string, file *syntax.File) (u *unit, shallow bool) {
	u = &unit{text: text, names: make(map[string]*variable), funcs: make(map[string][]function), sure: make(map[syntax.Node]bool), values: make(map[string]string), made: make(map[string]bool)}
	for _, stmt := range file.Stmts {
		first := stmt
		for !first.Background && !first.Negated {
			chain, ok := first.Cmd.(*syntax.BinaryCmd)
			if !ok {
				u.sure[first.Cmd] = true
				break
			}
			if chain.Op != syntax.AndStmt && chain.Op != syntax.OrStmt {
				break
			}
			first = chain.X
		}
	}
	deep, deepest := 0, 0
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			deep--
			return true
		}
		deepest = max(deepest, deep)
		if deep > maxDeep {
			return false
		}
		deep++
		u.look(n)
		return true
	})
	return u, deepest < maxDeep
}

func (u *unit) look(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.FuncDecl:
		if n.Name != nil {
			u.funcs[n.Name.Value] = append(u.funcs[n.Name.Value], function{n.Body, n})
		}
	case *syntax.CallExpr:
		for _, a := range n.Assigns {
			u.assign(a, !u.sure[n] || len(n.Args) > 0)
		}
		if len(n.Args) > 0 {
			u.call(n)
		}
	case *syntax.DeclClause:
		flags, array := false, false
		for _, a := range n.Args {
			switch {
			case a.Name == nil:
				flags = true
				array = array || a.Value.Lit() == "" || strings.ContainsAny(a.Value.Lit(), "aA")
			case !a.Naked:
				u.assign(a, true)
			}
		}
		for _, a := range n.Args {
			if a.Name != nil && (flags || n.Variant.Value != "export" && n.Variant.Value != "readonly") {
				v := u.named(a.Name.Value, false)
				v.strange, v.array = true, v.array || array
			}
		}
	case *syntax.WordIter:
		integers := len(n.Items) > 0
		for _, item := range n.Items {
			integers = integers && digits(item.Lit())
		}
		u.named(n.Name.Value, integers)
	case *syntax.ParamExp:
		if n.Exp != nil && n.Param != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
			u.named(n.Param.Value, false)
		}
	case *syntax.BinaryArithm:
		if n.Op == syntax.Assgn || n.Op >= syntax.AddAssgn && n.Op <= syntax.PowAssgn {
			u.arithmetic(n.X)
		}
	case *syntax.UnaryArithm:
		if n.Op == syntax.Inc || n.Op == syntax.Dec {
			u.arithmetic(n.X)
		}
	case *syntax.Redirect:
		if n.N != nil && strings.HasPrefix(n.N.Value, "{") {
			u.named(strings.Trim(n.N.Value, "{}"), true)
		}
	case *syntax.CoprocClause:
		if n.Name != nil {
			u.named(n.Name.Lit(), false).strange = true
		}
		u.named("COPROC", false).strange = true
	}
}

func (u *unit) arithmetic(x syntax.ArithmExpr) {
	if word, ok := x.(*syntax.Word); ok {
		u.named(word.Lit(), true)
	}
}

func (u *unit) assign(a *syntax.Assign, again bool) {
	integer := a.Index == nil && a.Array == nil && !a.Append && a.Value != nil
	if integer && !digits(a.Value.Lit()) {
		integer = false
		if len(a.Value.Parts) == 1 {
			_, integer = a.Value.Parts[0].(*syntax.ArithmExp)
		}
	}
	v := u.named(a.Name.Value, integer)
	v.array = v.array || a.Index != nil || a.Array != nil
	v.strange = v.strange || v.array
	if again || a.Append {
		v.set++ // so that it has no certain value
	}
}

func (u *unit) named(name string, integer bool) *variable {
	v := u.names[name]
	if v == nil {
		v = new(variable)
		u.names[name] = v
	}
	v.set++
	v.other = v.other || !integer
	return v
}

// call looks at the commands that assign variables.
func (u *unit) call(call *syntax.CallExpr) {
	name := call.Args[0].Lit()
	switch name {
	case "eval", "source", ".", "":
		u.open = true
		return
	case "printf":
		if len(call.Args) < 2 || call.Args[1].Lit() != "" && !strings.HasPrefix(call.Args[1].Lit(), "-") {
			return
		}
	case "read", "readarray", "mapfile", "unset", "getopts", "wait", "let",
		"builtin", "command", "declare", "typeset", "local", "export", "readonly":
	default:
		return
	}
	for _, word := range call.Args[1:] {
		name, value, assigned := strings.Cut(word.Lit(), "=")
		switch {
		case identifier(name):
			u.named(name, assigned && digits(value))
			u.names[name].set++
		case name == "" && !quotedLiteral(word):
			u.open = true
		}
	}
}

// quotedLiteral reports whether a word is a text in quotes that is no name.
func quotedLiteral(word *syntax.Word) bool {
	if len(word.Parts) != 1 {
		return false
	}
	switch part := word.Parts[0].(type) {
	case *syntax.SglQuoted:
		return !identifier(part.Value)
	case *syntax.DblQuoted:
		if len(part.Parts) == 0 {
			return true
		}
		lit, ok := part.Parts[0].(*syntax.Lit)
		return ok && len(part.Parts) == 1 && !identifier(lit.Value)
	}
	return false
}

func identifier(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != ""
}

// integer reports whether a variable certainly has an integer.
func (w *walker) integer(name string) bool {
	switch name {
	case "RANDOM", "SECONDS", "LINENO", "EPOCHSECONDS", "UID", "EUID", "PPID", "BASHPID":
		return w.unit.names[name] == nil && !w.outer[name]
	}
	v := w.unit.names[name]
	return v != nil && !v.other && !v.strange && !w.unit.open && w.unit.parent == nil && !w.outer[name]
}

// sets remembers the value of a variable that certainly has it from now on.
func (w *walker) sets(call *syntax.CallExpr, name string, v value) {
	n := w.unit.names[name]
	if v.lit && w.unit.sure[call] && !w.unit.open && w.unit.parent == nil && n.set == 1 && !n.strange && len(v.text) < 4096 {
		w.unit.values[name] = v.text
	}
}

// assigns is called for each assignment of a name.
func (w *walker) assigns(name string, v value) {
	if commanding(name) && !(name == "IFS" && v.lit && v.text == "") {
		w.note(name, " is a variable that decides what runs")
	}
}

// commanding reports whether programs or the shell run, load or write what a variable
// says. It knows families of names rather than names: most have OPTIONS or PATH or
// EDITOR in them.
func commanding(name string) bool {
	switch name {
	case "ENV", "HOME", "IFS", "CC", "CXX", "LD", "AR", "AS", "CPP", "PS0", "PS1", "PS2", "PS4", "VISUAL", "BROWSER",
		"TAPE", "UNZIP", "PROMPT_COMMAND", "OLDPWD", "PWD", "MAGIC", "TMPDIR", "TMP", "TEMP", "OPTIND", "SHLVL", "TERM", "TERMCAP",
		"CPIO_RSH", "RSYNC_RSH", "GZIP", "BZIP2", "BZIP", "VERSION_CONTROL", "POSIXLY_CORRECT", "NLSPATH", "FIGNORE", "EXECIGNORE", "TIMEFORMAT", "MAKE":
		return true
	}
	for _, begin := range []string{
		"LD_", "DYLD_", "BASH", "GIT_", "SSH_", "LESS", "MAN", "PYTHON", "PERL", "RUBY", "NODE_OPT", "NODE_PATH", "NODE_RE", "NPM_", "npm_",
		"JAVA", "JDK_", "_JAVA", "GCONV", "GLIBC", "MALLOC", "LOCPATH", "HIST", "GLOB", "SUDO_", "WGET", "CURL", "OPENSSL",
		"SSL", "XDG_", "XZ_", "ZSTD", "ZIP", "TERMINFO", "COMP_", "FZF_", "VIM", "MAIL", "LUA_", "PHP", "TAR_", "GO111", "GOROOT", "GOTOOL", "GOFLAGS", "GOENV", "DEBUGINFOD", "COREPACK",
		"READLINE", "INPUTRC", "PG", "MYSQL", "CARGO", "RUST", "GCC_", "COMPILER", "POSIX", "DIFF", "PATCH", "SIMPLE_BACKUP", "FC", "SVN_", "HG",
	} {
		if strings.HasPrefix(name, begin) {
			return true
		}
	}
	for _, has := range []string{"PATH", "OPT", "FLAGS", "PAGER", "EDITOR", "COMMAND", "SHELL", "CONFIG", "CONF_", "RC_", "PRELOAD", "INIT", "WRAPPER", "PLUGIN", "HOOK"} {
		if strings.Contains(name, has) {
			return true
		}
	}
	return strings.HasSuffix(name, "RC") || strings.HasSuffix(name, "CONF") || strings.HasSuffix(name, "_CMD") || strings.HasSuffix(name, "OPEN")
}
