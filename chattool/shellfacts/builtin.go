package shellfacts

import (
	"slices"
	"strings"
)

// specialBuiltins are found before functions by some shells, and after them by others.
// For the others here the parser has a grammar of its own, whatever functions there
// are.
var specialBuiltins = []string{
	".", ":", "[", "[[", "break", "continue", "coproc", "declare", "eval", "exec", "exit", "export", "function", "let", "local", "nameref",
	"readonly", "return", "select", "set", "shift", "source", "time", "times", "trap", "typeset", "unset",
}

// builtin walks a builtin of the shell. It returns false if the name is none.
func (l *launch) builtin(name string) bool {
	switch name {
	case ":", "true", "false", "echo", "pwd", "exit", "return", "break", "continue", "shift", "times", "umask", "ulimit",
		"bg", "fg", "disown", "kill", "type", "help", "dirs":
	case "bind", "caller", "compgen", "complete", "compopt", "enable", "fc", "history", "logout", "suspend":
		l.note(name, " is a builtin that can run commands")
	case "eval":
		l.eval()
	case "source", ".":
		l.source()
	case "command", "exec", "builtin":
		l.prefix(name)
	case "cd", "pushd", "popd":
		l.cd(name)
	case "trap":
		l.trap()
	case "alias":
		for _, arg := range l.args {
			if !arg.lit || strings.Contains(arg.text, "=") {
				l.note(arg.text, " is an alias, and changes what a name runs")
			}
		}
	case "unalias":
	case "jobs", "hash", "wait":
		dangerous := map[string]string{"jobs": "x", "hash": "p", "wait": "p"}[name]
		for _, arg := range l.args {
			if arg.option() && (!arg.lit || strings.Contains(arg.text, dangerous)) {
				l.note(arg.text, " is an option of "+name+" that can run commands")
			}
		}
	case "set", "shopt":
		l.set(name)
	case "test", "[":
		l.test()
	case "printf", "read", "mapfile", "readarray", "getopts", "unset":
		l.names(name)
	case "let":
		l.note("let", " evaluates expressions, in which an index may run commands")
	case "export", "readonly", "declare", "typeset", "local", "nameref":
		l.declared(name)
	default:
		return false
	}
	return true
}

func (l *launch) eval() {
	var text strings.Builder
	for i, arg := range l.args {
		if i == 0 && arg.lit && arg.text == "--" {
			continue
		}
		if !arg.lit {
			l.note(arg.text, " is evaluated as a command")
			return
		}
		text.WriteString(arg.text + " ")
	}
	l.evaluated(literal(text.String()), l.sc)
}

func (l *launch) source() {
	args := l.args
	if len(args) > 0 && args[0].text == "--" {
		args = args[1:]
	}
	l.files()
	defer l.sc.moves(nil, nil)
	switch {
	case len(args) == 0:
	case !args[0].lit:
		l.note(args[0].text, " is the name of a script")
	case strings.HasPrefix(args[0].text, "/dev/"), strings.HasPrefix(args[0].text, "/proc/"), args[0].option():
		l.note(args[0].text, " is a script that no file has")
	default:
		l.read(l.sc, args[0])
	}
}

// prefix walks a builtin that runs the command behind it.
func (l *launch) prefix(name string) {
	args := l.args
	for len(args) > 0 && args[0].lit && args[0].option() {
		option := args[0].text
		args = args[1:]
		switch {
		case option == "--":
		case name == "command" && (option == "-v" || option == "-V"):
			return
		case name == "command" && option == "-p", name == "exec" && (option == "-c" || option == "-l" || option == "-cl"):
			continue
		case name == "exec" && option == "-a" && len(args) > 0:
			args = args[1:]
			continue
		default:
			l.note(option, " is an option of "+name+" that is not known")
		}
		break
	}
	l.starts(args, name != "exec", false, false)
}

func (l *launch) cd(name string) {
	args, physical := l.args, false
	for len(args) > 0 && args[0].option() {
		if !args[0].lit || args[0].text != "-L" && args[0].text != "-P" && args[0].text != "--" {
			l.sc.moves(nil, nil)
			return
		}
		physical = physical || args[0].text == "-P"
		args = args[1:]
	}
	switch {
	case name == "popd", len(args) != 1, name == "pushd" && strings.HasPrefix(args[0].text, "+"):
		l.sc.moves(nil, nil)
	default:
		l.chdir(l.sc, args[0], physical)
	}
}

func (l *launch) trap() {
	args := l.args
	if len(args) > 0 && args[0].text == "--" {
		args = args[1:]
	}
	if len(args) < 2 && (len(args) == 0 || args[0].lit) || args[0].lit && slices.Contains([]string{"-", "", "-l", "-p", "-P"}, args[0].text) {
		return
	}
	l.evaluated(args[0], &scope{}) // whenever it runs, in whatever directory
}

// set walks set and shopt.
func (l *launch) set(name string) {
	fine := "abefhmnuvxBCET"
	long := []string{"allexport", "braceexpand", "errexit", "errtrace", "functrace", "monitor", "noclobber", "noglob", "nounset", "pipefail", "verbose", "xtrace"}
	if name == "shopt" {
		fine = "suqp"
		long = []string{"dotglob", "failglob", "globstar", "inherit_errexit", "nocaseglob", "nocasematch", "nullglob"}
	}
	named := name == "shopt"
	for i, arg := range l.args {
		switch {
		case !arg.lit:
		case arg.text == "--" && name == "set", arg.text == "-" && name == "set":
			return // what follows are arguments
		case strings.HasPrefix(arg.text, "-"), strings.HasPrefix(arg.text, "+") && name == "set":
			letters := arg.text[1:]
			if name == "set" && strings.HasSuffix(letters, "o") {
				letters, named = letters[:len(letters)-1], true
			}
			if strings.Trim(letters, fine) == "" {
				continue
			}
		case named && slices.Contains(long, arg.text):
			named = name == "shopt"
			continue
		case name == "set" && !named && i == 0:
			return // all are arguments
		}
		l.note(arg.text, " is an option of "+name+" that changes how the shell reads commands")
	}
}

// test walks test and [. In bash, -v and -R expand the index of an array.
func (l *launch) test() {
	if l.posix {
		return
	}
	args := l.args
	if l.name == "[" && len(args) > 0 {
		args = args[:len(args)-1]
	}
	for len(args) > 0 && args[0].lit && args[0].text == "!" {
		args = args[1:]
	}
	counted := !slices.ContainsFunc(args, func(v value) bool { return v.many })
	index := func(v value) bool { return !v.lit || strings.Contains(v.text, "[") }
	switch {
	case counted && len(args) < 2:
		return
	case counted && len(args) == 2 && args[0].lit && args[0].text != "-v" && args[0].text != "-R":
		return
	case counted && len(args) == 3 && args[1].lit && slices.Contains(binaryTests, args[1].text):
		return
	}
	unary := slices.ContainsFunc(args, func(v value) bool { return v.lit && (v.text == "-v" || v.text == "-R") || !v.lit && v.option() })
	if unary && slices.ContainsFunc(args, index) {
		l.note(l.name, " may expand an index")
	}
}

var binaryTests = []string{"=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"}

// names walks the builtins that assign the variables that they are told. In bash, the
// index of an array in such a name is expanded.
func (l *launch) names(name string) {
	args := l.args
	spec := map[string]string{"read": "-ers -a: -d: -i: -n: -N: -p: -t: -u:", "mapfile": "-t -d: -n: -O: -s: -u:", "readarray": "-t -d: -n: -O: -s: -u:", "unset": "-fvn", "printf": "-v:"}[name]
	if name == "getopts" && len(args) > 0 {
		args = args[1:min(2, len(args))]
	}
	if name == "printf" {
		if len(args) == 0 || args[0].lit && !strings.HasPrefix(args[0].text, "-v") || !args[0].lit && !args[0].option() || l.posix {
			return
		}
		if !args[0].lit {
			l.note(args[0].text, " may be an option of printf")
			return
		}
		if args[0].text == "-v" && len(args) > 1 {
			args = args[1:2]
		} else {
			args = []value{literal(strings.TrimPrefix(args[0].text, "-v"))}
		}
	} else if spec != "" {
		known := parseSpec(name, spec)
		options, rest, ok := known.parse(l, args, true)
		if !ok {
			return
		}
		args = rest
		for _, o := range options {
			if o.name == "a" {
				args = append(args, o.value)
			}
		}
		if name == "unset" && slices.ContainsFunc(options, func(o given) bool { return o.name == "f" }) {
			for _, arg := range args {
				delete(l.unit.made, arg.text)
			}
			return
		}
	}
	for _, arg := range args {
		if !arg.lit || !identifier(arg.text) {
			if !l.posix {
				l.note(arg.text, " is a name that "+name+" assigns, and its index may run commands")
			}
			continue
		}
		l.assigns(arg.text, value{})
	}
}

// declared walks export and declare. If the parser knows them, the assignments have
// been walked.
func (l *launch) declared(name string) {
	for _, arg := range l.args {
		before, _, assigned := strings.Cut(arg.text, "=")
		before = strings.TrimSuffix(before, "+")
		switch {
		case arg.lit && arg.option():
			if letters := strings.TrimLeft(arg.text, "-"); strings.Trim(letters, "xrgpaAfF") != "" || name == "export" && strings.Contains(letters, "f") || name == "nameref" {
				l.note(arg.text, " is an option of "+name+" that changes what an assignment does")
			}
		case arg.lit && strings.HasPrefix(arg.text, "+"):
		case identifier(before) && (arg.lit || assigned):
			if _, v, _ := strings.Cut(arg.text, "="); strings.HasPrefix(v, "(") && !l.posix {
				l.note(arg.text, " may be an array whose elements are expanded")
			}
			if assigned {
				l.assigns(before, arg)
			}
		case arg.lit && !strings.ContainsAny(arg.text, "[$`"):
		case l.posix && !arg.many:
			if !assigned || !identifier(before) {
				l.note(arg.text, " is a variable that "+name+" assigns")
			}
		default:
			l.note(arg.text, " is a variable that "+name+" assigns")
		}
	}
}
