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
	appended  bool     // words that are not known follow

	at   int // of its Program
	name string
	args []value
}

// run walks a command with its words.
func (l *launch) run(words []value) {
	if !l.step() {
		return
	}
	name := words[0]
	l.args = words[1:]
	if !name.lit || name.text == "" {
		l.add(name.text)
		l.note(name.text, " is the name of a program")
		return
	}
	if l.functions && l.invoke(name.text, l.sc) {
		return
	}
	l.add(name.text)
	l.name = name.text
	if l.shell && l.builtin(name.text) {
		l.known()
		return
	}
	if dir := path.Dir(name.text); strings.Contains(name.text, "/") {
		switch dir {
		case "/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin":
			l.name = path.Base(name.text)
		default:
			l.files()
			return
		}
	}
	spec := programs()[l.name]
	if spec == nil {
		return
	}
	l.known()
	if spec.files {
		l.files()
	}
	if spec.never != "" {
		l.note(name.text, spec.never)
		return
	}
	l.spec(spec)
}

// add adds the Program.
func (l *launch) add(name string) {
	p := Program{Name: name, Literal: !l.appended, Through: slices.Clone(l.through), Line: l.line}
	for _, arg := range l.args {
		p.Args = append(p.Args, arg.text)
		p.Literal = p.Literal && arg.lit
	}
	l.at = len(l.facts.Programs)
	if l.at >= maxFacts {
		l.note("", "the command runs too many programs")
		l.at--
		return
	}
	l.facts.Programs = append(l.facts.Programs, p)
}

func (l *launch) known() { l.facts.Programs[l.at].Known = true }
func (l *launch) files() { l.facts.Programs[l.at].Files = true }

// starts walks a command that this one starts. It is no function, and a builtin only
// if the shell starts it.
func (l *launch) starts(words []value, shell, functions, appended bool) {
	if len(words) == 0 {
		return
	}
	leave, ok := l.enter()
	if !ok {
		return
	}
	defer leave()
	sc := l.sc
	if !shell {
		sc = sc.clone()
	}
	if words[0].lit && words[0].option() {
		l.note(words[0].text, " is an option of "+l.name+" that is not known")
	}
	inner := &launch{walker: l.walker, sc: sc, shell: shell, functions: functions, appended: appended || l.appended}
	inner.through = append(slices.Clone(l.through), l.facts.Programs[l.at].Name)
	inner.run(words)
}

// script walks a text that another shell runs, whose name says its language.
func (l *launch) script(shell string, text value) {
	if !text.lit {
		l.note(text.text, " is a script for "+shell)
		return
	}
	walk := func(posix bool) {
		around := l.posix
		l.posix = posix
		l.text(text.text, &scope{cwd: l.sc.cwd, then: l.sc.cwd}, nil)
		l.posix = around
	}
	switch shell {
	case "bash", "rbash":
		walk(false)
	case "dash":
		walk(true)
	default:
		before := len(l.facts.Programs)
		walk(true)
		middle := len(l.facts.Programs)
		walk(false)
		if all := l.facts.Programs; slices.EqualFunc(all[before:middle], all[middle:], same) {
			l.facts.Programs = all[:middle]
		}
		if shell != "sh" && shell != "ash" {
			l.note("", "the language of "+shell+" is not known")
		}
	}
}

func same(p, q Program) bool {
	return p.Name == q.Name && slices.Equal(p.Args, q.Args) && p.Literal == q.Literal && p.Known == q.Known && p.Files == q.Files && slices.Equal(p.Through, q.Through) && p.Line == q.Line
}

// evaluated walks a text that this shell runs.
func (l *launch) evaluated(text value, sc *scope) {
	if !text.lit {
		l.note(text.text, " is evaluated as a command")
		return
	}
	l.text(text.text, sc, l.unit)
}

// text walks a text, and adds to its Programs what starts them.
func (l *launch) text(text string, sc *scope, parent *unit) {
	before := len(l.facts.Programs)
	l.walker.shell(text, sc, parent)
	for i := before; i < len(l.facts.Programs); i++ {
		p := &l.facts.Programs[i]
		p.Through = slices.Concat(l.through, []string{l.facts.Programs[l.at].Name}, p.Through)
	}
}
