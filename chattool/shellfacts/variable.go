package shellfacts

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A unit is a text that has been parsed, with what all of it tells.
type unit struct {
	text     string
	line     int   // of its first line, if it is a text within another; else 0
	parent   *unit // the text around it in the same shell, or nil
	funcs    map[string][]*syntax.FuncDecl
	sure     map[*syntax.FuncDecl]bool // that are defined before all that follows them
	made     map[string]bool           // names that are certainly functions by now
	arrays   bool                      // there are some
	integers map[string]bool           // each variable, and whether it only gets integers
	open     bool                      // a variable may also be assigned in another way
}

// survey finds the names of a text. It returns false if the text is nested too deep.
func survey(text string, file *syntax.File) (*unit, bool) {
	u := &unit{text: text, funcs: make(map[string][]*syntax.FuncDecl), sure: make(map[*syntax.FuncDecl]bool), made: make(map[string]bool), integers: make(map[string]bool)}
	for _, stmt := range file.Stmts {
		if decl, ok := stmt.Cmd.(*syntax.FuncDecl); ok && !stmt.Background && len(stmt.Redirs) == 0 {
			u.sure[decl] = true
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
	gets := func(name string, integer bool) {
		before, seen := u.integers[name]
		u.integers[name] = integer && (before || !seen)
	}
	switch n := n.(type) {
	case *syntax.FuncDecl:
		if n.Name != nil {
			u.funcs[n.Name.Value] = append(u.funcs[n.Name.Value], n)
		}
	case *syntax.ArrayExpr:
		u.arrays = true
	case *syntax.Assign:
		integer := n.Value != nil && n.Index == nil && !n.Append && digits(n.Value.Lit())
		if !integer && n.Value != nil && n.Index == nil && !n.Append && len(n.Value.Parts) == 1 {
			_, integer = n.Value.Parts[0].(*syntax.ArithmExp)
		}
		if n.Name != nil {
			gets(n.Name.Value, integer)
		}
	case *syntax.WordIter:
		gets(n.Name.Value, len(n.Items) > 0 && !slices.ContainsFunc(n.Items, func(w *syntax.Word) bool { return !digits(w.Lit()) }))
	case *syntax.BinaryArithm:
		if word, ok := n.X.(*syntax.Word); ok && n.Op == syntax.Assgn {
			gets(word.Lit(), true)
		}
	case *syntax.DeclClause, *syntax.CoprocClause:
		u.open = true
	case *syntax.Redirect:
		u.open = u.open || n.N != nil && strings.HasPrefix(n.N.Value, "{")
	case *syntax.ParamExp:
		u.open = u.open || n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull)
	case *syntax.CallExpr:
		if len(n.Args) > 0 {
			name := n.Args[0].Lit()
			u.open = u.open || name == "" || name == "printf" && strings.HasPrefix(n.Args[min(1, len(n.Args)-1)].Lit(), "-") ||
				slices.Contains([]string{"eval", "source", ".", "read", "readarray", "mapfile", "getopts", "wait", "let", "builtin", "command", "declare", "typeset", "local", "export", "readonly"}, name)
		}
	}
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

// integer reports whether a variable certainly has an integer, or nothing.
func (w *walker) integer(name string) bool {
	return w.unit.integers[name] && !w.unit.open && w.unit.parent == nil && w.nested == 1
}

// assigns is called for each assignment of a name.
func (w *walker) assigns(name string, v value) {
	if commanding(name) && !(name == "IFS" && v.lit && v.text == "") {
		w.note(name, " is a variable that decides what runs")
	}
}

// commanding reports whether programs or the shell run, load or write what a variable
// says. It knows families of names: most have OPTIONS or PATH or EDITOR in them.
func commanding(name string) bool {
	has := func(list string, is func(string, string) bool) bool {
		for part := range strings.FieldsSeq(list) {
			if is(name, part) {
				return true
			}
		}
		return false
	}
	return has("ENV HOME IFS CC CXX LD AR AS CPP VISUAL BROWSER TAPE OLDPWD PWD MAGIC TMPDIR TMP TEMP OPTIND SHLVL TERM TERMCAP CPIO_RSH RSYNC_RSH "+
		"GZIP VERSION_CONTROL NLSPATH FIGNORE EXECIGNORE TIMEFORMAT MAKE", func(a, b string) bool { return a == b }) ||
		has("LD_ DYLD_ BASH GIT_ SSH_ LESS MAN PYTHON PERL RUBY NODE_OPT NODE_PATH NODE_RE NPM_ npm_ JAVA JDK_ _JAVA GCONV GLIBC MALLOC LOCPATH HIST GLOB SUDO_ WGET "+
			"CURL OPENSSL SSL XDG_ XZ_ ZSTD ZIP UNZIP BZIP PS TERMINFO COMP FZF_ VIM MAIL LUA_ PHP TAR_ GO111 GOROOT GOTOOL GOFLAGS GOENV DEBUGINFOD COREPACK READLINE INPUTRC PG "+
			"MYSQL CARGO RUST GCC_ POSIX DIFF PATCH SIMPLE_BACKUP FC SVN_ HG PROMPT", strings.HasPrefix) ||
		has("PATH OPT FLAGS PAGER EDITOR COMMAND SHELL CONFIG CONF_ RC_ PRELOAD INIT WRAPPER PLUGIN HOOK", strings.Contains) ||
		has("RC CONF _CMD OPEN", strings.HasSuffix)
}
