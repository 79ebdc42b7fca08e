package shellfacts

import (
	"slices"
	"strings"
)

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
