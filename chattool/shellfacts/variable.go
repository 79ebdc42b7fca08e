package shellfacts

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A unit is a text that has been parsed, with what all of it tells.
type unit struct {
	text   string
	line   int   // of its first line, if it is a text within another; else 0
	parent *unit // the text around it in the same shell, or nil
	funcs  map[string][]*syntax.FuncDecl
	sure   map[*syntax.FuncDecl]bool // that are defined before all that follows them
	made   map[string]bool           // names that are certainly functions by now
	arrays bool                      // there are some
}

// survey finds the names of a text. It returns false if the text is nested too deep.
func survey(text string, file *syntax.File) (u *unit, ok bool) {
	u = &unit{text: text, funcs: make(map[string][]*syntax.FuncDecl), sure: make(map[*syntax.FuncDecl]bool), made: make(map[string]bool)}
	for _, stmt := range file.Stmts {
		if decl, ok := stmt.Cmd.(*syntax.FuncDecl); ok && !stmt.Background {
			u.sure[decl] = true
		}
	}
	deep, ok := 0, true
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case nil:
			deep--
			return true
		case *syntax.FuncDecl:
			if n.Name != nil {
				u.funcs[n.Name.Value] = append(u.funcs[n.Name.Value], n)
			}
		case *syntax.ArrayExpr:
			u.arrays = true
		}
		if deep == maxDeep {
			ok = false
			return false
		}
		deep++
		return true
	})
	return u, ok
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
		return slices.ContainsFunc(strings.Fields(list), func(part string) bool { return is(name, part) })
	}
	return has("ENV HOME IFS CC CXX LD AR AS CPP VISUAL BROWSER TAPE OLDPWD PWD MAGIC TMPDIR TMP TEMP OPTIND SHLVL TERM TERMCAP CPIO_RSH RSYNC_RSH "+
		"GZIP VERSION_CONTROL NLSPATH FIGNORE EXECIGNORE TIMEFORMAT MAKE", func(a, b string) bool { return a == b }) ||
		has("LD_ DYLD_ BASH GIT_ SSH_ LESS MAN PYTHON PERL RUBY NODE_OPT NODE_PATH NODE_RE NPM_ npm_ JAVA JDK_ _JAVA GCONV GLIBC MALLOC LOCPATH HIST GLOB SUDO_ WGET "+
			"CURL OPENSSL SSL XDG_ XZ_ ZSTD ZIP UNZIP BZIP PS TERMINFO COMP FZF_ VIM MAIL LUA_ PHP TAR_ GO111 GOROOT GOTOOL GOFLAGS GOENV DEBUGINFOD COREPACK READLINE INPUTRC PG "+
			"MYSQL CARGO RUST GCC_ POSIX DIFF PATCH SIMPLE_BACKUP FC SVN_ HG PROMPT", strings.HasPrefix) ||
		has("PATH OPT FLAGS PAGER EDITOR COMMAND SHELL CONFIG CONF_ RC_ PRELOAD INIT WRAPPER PLUGIN HOOK", strings.Contains) ||
		has("RC CONF _CMD OPEN", strings.HasSuffix)
}
