package shellfacts

import (
	"path"
	"slices"
	"strings"
)

// A launch is a simple command, as the shell or another program starts it.
type launch struct {
	*walker
	sc       *scope
	reader   *reader  // of the shell that starts it, or nil
	through  []string // the programs that start it, or its shell
	appended string   // the program that appends words which are not known, or ""

	at   int // of its Program
	name string
	args []value
}

// programName matches the names of programs that are read.
var programName = pattern(`^(?:[A-Za-z0-9_./][A-Za-z0-9_./+-]*|\[|:)$`)

// run walks a command with its words.
func (l *launch) run(words []value) {
	name := words[0]
	l.args = words[1:]
	l.add(name.text)
	switch {
	case strings.Contains(name.text, "="):
		l.note(name.text, " sets a variable")
		return
	case !name.lit || !programName().MatchString(name.text):
		l.note(name.text, " is the name of a program")
		return
	}
	l.name = name.text
	if l.reader != nil && l.builtin() {
		l.known()
		return
	}
	if dir := path.Dir(name.text); strings.Contains(name.text, "/") {
		l.name = path.Base(name.text)
		if !slices.Contains([]string{"/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin"}, dir) {
			l.files()
			return
		}
	}
	s := programs()[l.name]
	if s == nil {
		return
	}
	l.known()
	if s.files {
		l.files()
	}
	if s.never {
		l.note(l.name, " can run and write whatever its arguments, its input and its configuration say")
		return
	}
	l.spec(s)
}

// add adds the Program.
func (l *launch) add(name string) {
	p := Program{Name: name, Literal: l.appended == "", Through: slices.Clone(l.through)}
	for _, arg := range l.args {
		p.Args = append(p.Args, arg.text)
		p.Literal = p.Literal && arg.lit
	}
	if len(l.facts.Programs) == maxFacts {
		l.note("", "the command runs too many programs")
		l.facts.Programs = l.facts.Programs[:maxFacts-1]
	}
	l.at = len(l.facts.Programs)
	l.facts.Programs = append(l.facts.Programs, p)
}

func (l *launch) known() { l.facts.Programs[l.at].Known = true }
func (l *launch) files() { l.facts.Programs[l.at].Files = true }

// unclear notes that a word is not known for what it does to the program.
func (l *launch) unclear(v value, is string) {
	l.note(v.text, " is "+is+" of "+l.name+" that is not known")
}

// chain has what starts the programs that this one starts.
func (l *launch) chain() []string {
	return append(slices.Clone(l.through), l.facts.Programs[l.at].Name)
}

// shellWords are the builtins and reserved words of the shells. The ones that
// [launch.builtin] does not know change what the rest of a command means.
var shellWords = strings.Fields(". : [ [[ ]] { } ! alias bg bind break builtin caller case cd chdir command compgen complete compopt continue coproc declare " +
	"dirs disown do done echo elif else enable esac eval exec exit export false fc fg fi for function getopts hash help histcmd history if in jobs kill let " +
	"local logout mapfile nameref newgrp popd printf pushd pwd read readarray readonly return select set shift shopt source suspend test then time times trap true " +
	"type typeset ulimit umask unalias unset until wait while")

var (
	calmUnary  = pattern(`^-[bcdefghknprstuwxzGLNOS]$`)
	calmBinary = pattern(`^(?:==?|!=|-eq|-ne|-lt|-le|-gt|-ge|-nt|-ot|-ef)$`)
	// printfSets matches a format that sets a variable, or may after it has been
	// unescaped.
	printfSets = pattern(`%[^%A-Za-z]*[hjlLqtz]*n|\\[0-9xuU]`)
)

// builtin walks a builtin of the shell. It returns false if the name is none.
func (l *launch) builtin() bool {
	number := func(v value) bool { return v.lit && digits(v.text) || v.text == "$?" || v.text == "$!" }
	ok := false
	switch l.name {
	case ":", "true", "false", "echo", "pwd", "kill":
		ok = true
	case "exit", "wait":
		ok = !slices.ContainsFunc(l.args, func(v value) bool { return !number(v) })
	case "printf":
		ok = len(l.args) > 0 && l.args[0].lit && !l.args[0].option() && !printfSets().MatchString(l.args[0].text)
	case "test", "[":
		ok = l.test()
	case "time":
		// In bash it is a word of the grammar.
		if len(l.args) > 0 && l.args[0].lit && !l.args[0].option() && !slices.Contains(shellWords, l.args[0].text) {
			return false
		}
	default:
		if !slices.Contains(shellWords, l.name) {
			return false
		}
	}
	if !ok {
		l.note(strings.Join(append([]string{l.name}, l.facts.Programs[l.at].Args...), " "), " is a command of the shell itself, and not one that is read")
	}
	return true
}

// test walks test and [, in which bash evaluates some words.
func (l *launch) test() bool {
	args := l.args
	if l.name == "[" {
		if n := len(args) - 1; n < 0 || !args[n].lit || args[n].text != "]" {
			return false
		}
		args = args[:len(args)-1]
	}
	if len(args) > 1 && args[0].lit && args[0].text == "!" {
		args = args[1:]
	}
	if slices.ContainsFunc(args, func(v value) bool { return v.many }) {
		return false
	}
	switch len(args) {
	case 0, 1:
		return true
	case 2:
		return args[0].lit && calmUnary().MatchString(args[0].text)
	case 3:
		return args[1].lit && calmBinary().MatchString(args[1].text)
	}
	return !slices.ContainsFunc(args, func(v value) bool { return !v.lit || v.text == "-v" || v.text == "-R" })
}

// starts walks a command that this one starts.
func (l *launch) starts(words []value, appended string) {
	if len(words) == 0 {
		if appended != "" {
			l.note(l.name, " runs what "+appended+" appends")
		}
		return
	}
	inner := &launch{walker: l.walker, sc: l.sc.clone(), through: l.chain(), appended: appended}
	l.deeper(func() { inner.run(words) })
}

// script walks a text that another shell runs.
func (l *launch) script(shell string, text value) {
	if !text.lit || strings.Contains(text.text, `\`) {
		l.note(text.text, " is a command for "+l.name+", and no literal without a backslash")
		return
	}
	l.shell(text.text, shell, l.sc.clone(), l.chain())
}

// xargs walks a command whose last words come from the input.
func (l *launch) xargs(s *spec) {
	options, words := l.parse(s, l.args)
	l.effects(options)
	if len(words) == 0 {
		l.starts(nil, l.appended)
		words = []value{literal("echo")}
	}
	l.starts(words, "xargs")
}

// shellOption matches the options of a shell that only say where its text is and when
// it ends.
var shellOption = pattern(`^-[ceulx]+$`)

// shellScript walks a shell with a text, or with a file.
func (l *launch) shellScript() {
	args, options := l.args, ""
	for len(args) > 0 && args[0].lit && shellOption().MatchString(args[0].text) {
		options += args[0].text
		args = args[1:]
	}
	if strings.Contains(options, "l") {
		l.files() // a login shell reads its profile
	}
	if len(args) > 0 && args[0].text == "--version" {
		return
	}
	if strings.Contains(options, "c") && len(args) > 0 && !args[0].many && !args[0].option() && !strings.HasPrefix(args[0].text, "+") {
		l.script(l.name, args[0])
	} else {
		l.file(args)
	}
}

// file walks an interpreter with a script in a file, or in its input.
func (l *launch) file(args []value) {
	switch {
	case len(args) == 0:
		l.note(l.name, " runs what its input says")
	case !args[0].lit, args[0].option(), args[0].special(), args[0].text == "", strings.HasPrefix(args[0].text, "+"):
		l.unclear(args[0], "a script")
	default:
		l.files()
		l.read(l.sc, args[0])
	}
}

var (
	// calmModules are Python modules that run what files say, and nothing of their input.
	calmModules = pattern(`^(?:pytest|unittest|pip|venv|mypy|black|ruff|flake8|http\.server|build|isort|pylint|tox|django|flask|uvicorn)$`)
	subcommand  = pattern(`^[a-z]+$`) // such as "test" or "install"
)

// scriptFile walks an interpreter whose options are known in the table.
func (l *launch) scriptFile(s *spec) {
	if len(l.args) > 1 && l.args[0].text == "-m" && l.args[1].lit && calmModules().MatchString(l.args[1].text) && s.short['m'].effect == '!' {
		return // behind -m the options of python end
	}
	options, operands := l.parse(s, l.args)
	l.effects(options)
	version := slices.ContainsFunc(options, func(o flag) bool { return strings.HasPrefix(strings.ToLower(o.name), "v") })
	if len(operands) > 0 && operands[0].lit && subcommand().MatchString(operands[0].text) || len(operands) == 0 && version {
		return
	}
	l.file(operands)
}
