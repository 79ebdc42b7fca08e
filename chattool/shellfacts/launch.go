package shellfacts

import (
	"path"
	"slices"
	"strings"
)

// A launch is a simple command, as the shell or another program starts it.
type launch struct {
	*walker
	sc        *scope
	shell     bool     // the shell starts it, so it may be a builtin
	functions bool     // or a function
	through   []string // what starts it instead
	appended  string   // the program that appends words which are not known, or ""

	at   int // of its Program
	name string
	args []value
}

// run walks a command with its words.
func (l *launch) run(words []value) {
	name := words[0]
	l.args = words[1:]
	switch {
	case !l.step():
		return
	case !name.lit, name.text == "":
		l.add(name.text)
		l.note(name.text, " is the name of a program")
		return
	case l.functions && l.invoke(name.text, l.sc):
		return
	}
	l.add(name.text)
	l.name = name.text
	if l.shell && l.builtin() {
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
	p := Program{Name: name, Literal: l.appended == "", Through: slices.Clone(l.through), Line: l.line}
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

// starts walks a command that this one starts.
func (l *launch) starts(words []value, shell bool, appended string) {
	if len(words) == 0 {
		if appended != "" {
			l.note(l.name, " runs what "+appended+" appends")
		}
		return
	}
	if words[0].lit && words[0].option() {
		l.unclear(words[0], "an option")
	}
	inner := &launch{walker: l.walker, sc: l.sc, shell: shell, through: l.chain(), appended: appended}
	if !shell {
		inner.sc = l.sc.clone()
	}
	l.within(func() { inner.run(words) })
}

// script walks a text that another shell runs.
func (l *launch) script(shell string, text value) {
	if !text.lit {
		l.note(text.text, " is evaluated as a command")
		return
	}
	var found Facts
	for i, posix := range languages(shell) {
		inner := &walker{posix: posix, steps: l.steps, nested: l.nested, line: l.line}
		inner.shell(text.text, l.sc.clone(), nil)
		found.add(inner.facts, i > 0)
		l.steps = inner.steps
	}
	if len(languages(shell)) > 1 && shell != "sh" && shell != "ash" {
		l.note(shell, " has a language that is not known")
	}
	for i := range found.Programs {
		found.Programs[i].Through = slices.Concat(l.chain(), found.Programs[i].Through)
	}
	l.facts.add(found, false)
}

// evaluate walks a text that this shell runs.
func (l *launch) evaluate(text value, sc *scope) {
	if !text.lit {
		l.note(text.text, " is evaluated as a command")
		return
	}
	before := len(l.facts.Programs)
	l.walker.shell(text.text, sc, l.unit)
	for i := before; i < len(l.facts.Programs); i++ {
		p := &l.facts.Programs[i]
		p.Through = slices.Concat(l.chain(), p.Through)
	}
}

// env walks env and sudo: assignments, and then a command.
func (l *launch) env(s *spec, args []value) {
	options, operands := l.parse(s, args)
	l.sc = l.sc.clone()
	for _, o := range options {
		if o.effect != 'e' {
			continue
		}
		if !o.value.lit || !plain(strings.ReplaceAll(o.value.text, " ", "")) {
			l.note(o.value.text, " is split into words by env")
			return
		}
		var words []value
		for word := range strings.FieldsSeq(o.value.text) {
			words = append(words, literal(word))
		}
		l.within(func() { l.env(s, append(words, operands...)) })
		return
	}
	l.effects(options)
	for len(operands) > 0 {
		text := operands[0].text
		if !operands[0].lit {
			text = operands[0].head
		}
		name, _, has := strings.Cut(text, "=")
		if (!has || operands[0].many) && text != "-" {
			break
		}
		if l.assigns(name, value{}); has && !identifier(name) {
			l.note(text, " is a variable with a strange name")
		}
		operands = operands[1:]
	}
	l.starts(operands, false, l.appended)
}

// xargs walks a command whose last words, or some of them, come from the input.
func (l *launch) xargs(s *spec) {
	options, words := l.parse(s, l.args)
	l.effects(options)
	replaced := ""
	for _, o := range options {
		switch {
		case o.name == "I":
			replaced = o.value.text
		case o.name == "i", o.name == "replace":
			if replaced = o.value.text; replaced == "" {
				replaced = "{}"
			}
		}
	}
	if len(words) == 0 {
		l.starts(nil, false, l.appended)
		words = []value{literal("echo")}
	}
	words = slices.Clone(words)
	appended := "xargs"
	if replaced != "" {
		appended = l.appended
		for i, word := range words {
			if before, _, has := strings.Cut(word.text, replaced); has {
				words[i] = value{text: word.text, head: before}
			}
		}
	}
	l.starts(words, false, appended)
}

// shellScript walks a shell with a text, or with a file.
func (l *launch) shellScript() {
	args, text, language := l.args, false, l.name
options:
	for len(args) > 0 && args[0].lit && (args[0].option() || strings.HasPrefix(args[0].text, "+")) {
		arg := args[0]
		args = args[1:]
		switch arg.text {
		case "--":
			break options
		case "--login":
			l.files()
			continue
		case "--norc", "--noprofile":
			continue
		case "--posix":
			language = "sh"
			continue
		case "--version", "--help":
			return
		}
		for _, letter := range arg.text[1:] {
			switch {
			case letter == 'c':
				text = true
			case letter == 'l':
				l.files()
			case letter == 'o' && len(args) > 0 && slices.Contains([]string{"pipefail", "errexit", "nounset", "xtrace", "noglob"}, args[0].text):
				args = args[1:]
			case !strings.ContainsRune("euxvfhmbCBETp", letter) || arg.text[0] == '+':
				l.unclear(arg, "an option")
				return
			}
		}
	}
	if !text || len(args) == 0 {
		l.file(args)
	} else if args[0].many {
		l.unclear(args[0], "a script")
	} else {
		l.script(language, args[0])
	}
}

// file walks an interpreter with a script in a file, or in its input.
func (l *launch) file(args []value) {
	switch {
	case len(args) == 0:
		l.note(l.name, " runs what its input says")
	case !args[0].lit, args[0].special():
		l.unclear(args[0], "a script")
	default:
		l.files()
		l.read(l.sc, args[0])
	}
}

// scriptFile walks an interpreter whose options are known in the table.
func (l *launch) scriptFile(s *spec) {
	options, operands := l.parse(s, l.args)
	l.effects(options)
	if len(operands) > 0 && operands[0].lit && strings.Trim(operands[0].text, "abcdefghijklmnopqrstuvwxyz") == "" {
		return // such as "test" or "install"
	}
	if len(operands) > 0 || !slices.ContainsFunc(options, func(o given) bool { return strings.HasPrefix(strings.ToLower(o.name), "v") }) {
		l.file(operands)
	}
}

// python walks python. Behind -m its options end.
func (l *launch) python(s *spec) {
	modules := strings.Fields("pytest unittest pip venv mypy black ruff flake8 http.server build isort pylint tox django flask uvicorn")
	if len(l.args) > 1 && l.args[0].text == "-m" && l.args[1].lit && slices.Contains(modules, l.args[1].text) {
		return
	}
	l.scriptFile(s)
}
