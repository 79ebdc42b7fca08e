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
