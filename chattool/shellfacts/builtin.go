package shellfacts

import (
	"slices"
	"strings"
)

// specialBuiltins are found before functions by some shells, and after them by others.
// For the others here the parser has a grammar of its own, whatever functions there
// are.
var specialBuiltins = strings.Fields(". : [ [[ break continue coproc declare eval exec exit export function let local nameref readonly return select set shift source time times trap typeset unset")

// builtin walks a builtin of the shell. It returns false if the name is none.
func (l *launch) builtin() bool {
	switch l.name {
	case ":", "true", "false", "echo", "pwd", "exit", "return", "break", "continue", "shift", "times", "umask", "ulimit",
		"bg", "fg", "disown", "kill", "type", "help", "dirs", "unalias":
	case "bind", "caller", "compgen", "complete", "compopt", "enable", "fc", "history", "logout", "suspend", "let", "nameref":
		l.note(l.name, " is a builtin that can run commands")
	case "eval":
		l.eval()
	case "source", ".":
		l.source()
	case "command", "exec", "builtin":
		l.prefix()
	case "cd", "pushd", "popd":
		l.cd()
	case "trap":
		l.trap()
	case "alias":
		for _, arg := range l.args {
			if !arg.lit || strings.Contains(arg.text, "=") {
				l.note(arg.text, " is an alias, and changes what a name runs")
			}
		}
	case "jobs", "hash", "wait":
		for _, arg := range l.args {
			if arg.option() && (!arg.lit || strings.ContainsAny(arg.text, map[string]string{"jobs": "x", "hash": "p", "wait": "p"}[l.name])) {
				l.note(arg.text, " is an option of "+l.name+" that can run commands")
			}
		}
	case "set", "shopt":
		l.set()
	case "test", "[":
		l.test()
	case "printf", "read", "mapfile", "readarray", "getopts", "unset":
		l.names()
	case "export", "readonly", "declare", "typeset", "local":
		l.declared()
	default:
		return false
	}
	return true
}

func (l *launch) eval() {
	text := literal("")
	for i, arg := range l.args {
		if text.lit = text.lit && arg.lit; i > 0 || arg.text != "--" {
			text.text += arg.text + " "
		}
	}
	l.evaluate(text, l.sc)
}

func (l *launch) source() {
	l.files()
	switch {
	case len(l.args) == 0:
	case l.args[0].special(), l.args[0].option(), !l.args[0].lit:
		l.note(l.args[0].text, " is a script that no file has")
	default:
		l.read(l.sc, l.args[0])
	}
	l.sc.cwd, l.sc.then = nil, nil
}

// prefix walks a builtin that runs the command behind it.
func (l *launch) prefix() {
	args := l.args
	for len(args) > 0 && args[0].lit && args[0].option() {
		option := l.name + " " + args[0].text
		args = args[1:]
		switch {
		case strings.HasSuffix(option, " --"):
			l.starts(args, l.name != "exec", "")
			return
		case option == "command -v", option == "command -V":
			return
		case option == "exec -a" && len(args) > 0:
			args = args[1:]
		case option == "command -p", option == "exec -c", option == "exec -l":
		default:
			l.note(option, " is not known")
		}
	}
	l.starts(args, l.name != "exec", "")
}

func (l *launch) cd() {
	args, physical := l.args, false
	if len(args) > 1 && args[0].lit && slices.Contains([]string{"-L", "-P", "--"}, args[0].text) {
		args, physical = args[1:], args[0].text == "-P"
	}
	if len(args) != 1 || l.name == "popd" || args[0].option() || strings.HasPrefix(args[0].text, "+") {
		args = []value{{}} // somewhere
	}
	l.chdir(l.sc, args[0], physical)
}

func (l *launch) trap() {
	args := l.args
	if len(args) > 0 && args[0].text == "--" {
		args = args[1:]
	}
	if len(args) > 1 && !slices.Contains([]string{"-", "", "-l", "-p", "-P"}, args[0].text) || len(args) == 1 && !args[0].lit {
		l.evaluate(args[0], &scope{}) // whenever it runs, in whatever directory
	}
}

// set walks set and shopt.
func (l *launch) set() {
	long := "allexport braceexpand errexit errtrace functrace monitor noclobber noglob nounset pipefail verbose xtrace"
	fine := "-+abefhmnuvxBCETo"
	if l.name == "shopt" {
		long, fine = "dotglob failglob globstar inherit_errexit nocaseglob nocasematch nullglob", "-suqp"
	}
	for i, arg := range l.args {
		option := arg.option() || strings.HasPrefix(arg.text, "+")
		switch {
		case arg.lit && l.name == "set" && (arg.text == "--" || arg.text == "-" || i == 0 && !option):
			return // what follows are arguments
		case arg.lit && option && strings.Trim(arg.text, fine) == "", arg.lit && !option && slices.Contains(strings.Fields(long), arg.text):
		default:
			l.note(arg.text, " is an option of "+l.name+" that changes how the shell reads commands")
		}
	}
}

// test walks test and [. In bash, -v and -R expand the index of an array.
func (l *launch) test() {
	args := l.args
	if l.name == "[" && len(args) > 0 {
		args = args[:len(args)-1]
	}
	for len(args) > 0 && args[0].lit && args[0].text == "!" {
		args = args[1:]
	}
	is := func(v value, names string) bool { return v.lit && slices.Contains(strings.Fields(names), v.text) }
	switch counted := !slices.ContainsFunc(args, func(v value) bool { return v.many }); {
	case l.posix, counted && len(args) < 2, counted && len(args) == 2 && args[0].lit && !is(args[0], "-v -R"),
		counted && len(args) == 3 && is(args[1], "= == != < > -eq -ne -lt -le -gt -ge -nt -ot -ef"):
		return
	}
	if slices.ContainsFunc(args, func(v value) bool { return is(v, "-v -R") || !v.lit && v.option() }) &&
		slices.ContainsFunc(args, func(v value) bool { return !v.lit || strings.Contains(v.text, "[") }) {
		l.note(l.name, " may expand an index")
	}
}

// names walks the builtins that assign the variables that they are told. In bash, the
// index of an array in such a name is expanded, and mapfile -C runs a command.
func (l *launch) names() {
	args := l.args
	switch {
	case l.name == "printf" && len(args) > 0 && args[0].lit && strings.HasPrefix(args[0].text, "-v"):
		if args = args[:min(2, len(args))]; args[0].text != "-v" {
			args = []value{literal(strings.TrimPrefix(args[0].text, "-v"))}
		}
	case l.name == "printf" && (len(args) == 0 || args[0].lit || !args[0].option()):
		return
	case l.name == "unset" && len(args) > 0 && args[0].text == "-f":
		for _, arg := range args {
			delete(l.unit.made, arg.text)
		}
	}
	for _, arg := range args {
		if !l.posix && (!arg.lit || strings.Contains(arg.text, "[") || arg.option() && strings.Contains(arg.text, "C")) {
			l.note(arg.text, " is a name that "+l.name+" assigns, and its index may run commands")
		}
		if arg.lit {
			l.assigns(arg.text, value{})
			l.assigns(strings.TrimLeft(arg.text, "-adeinprstuNO"), value{}) // glued to an option
		}
	}
}

// declared walks export and declare. If the parser knows them, the assignments have
// been walked.
func (l *launch) declared() {
	for _, arg := range l.args {
		name, v, assigned := strings.Cut(arg.text, "=")
		switch {
		case arg.lit && arg.option() && strings.Trim(arg.text, "-xrgp") != "",
			!l.posix && strings.HasPrefix(v, "("), arg.many, !identifier(strings.TrimSuffix(name, "+")) && !(arg.lit && arg.option()):
			l.note(arg.text, " is an assignment by "+l.name+" that may expand an index")
		case assigned:
			l.assigns(strings.TrimSuffix(name, "+"), value{})
		}
	}
}
