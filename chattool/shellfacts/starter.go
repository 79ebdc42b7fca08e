package shellfacts

import (
	"slices"
	"strings"
)

// starter walks a program that starts others, or runs a script. It returns false for
// the others.
func (l *launch) starter(s *spec) bool {
	switch s.operands {
	case "env":
		l.env(s)
	case "xargs":
		l.xargs(s)
	case "setarch":
		_, operands, _ := s.parse(l, l.args, true)
		if len(operands) > 0 && !operands[0].lit {
			l.note(operands[0].text, " is the name of a program")
		}
		if len(operands) > 0 && strings.Contains(" linux32 linux64 i386 i486 i586 i686 x86_64 uname26 aarch64 arm64 armv7l ppc64 ", " "+operands[0].text+" ") {
			_, operands, _ = s.parse(l, operands[1:], true)
		}
		l.starts(operands, false, false, false)
	case "shell":
		l.shellScript(s)
	case "busybox":
		if len(l.args) > 0 && (!l.args[0].lit || l.args[0].text != "--list" && l.args[0].text != "--help") {
			l.starts(l.args, false, false, false)
		}
	case "su":
		l.su()
	case "python":
		l.python(s)
	case "script":
		l.scriptFile(s, l.args)
	default:
		return false
	}
	return true
}

// env walks env and sudo: assignments, and then a command.
func (l *launch) env(s *spec) {
	options, operands, _ := s.parse(l, l.args, true)
	l.sc = l.sc.clone()
	l.effects(s, options)
	for _, o := range options {
		switch {
		case o.effect != 'e':
		case !o.value.lit || strings.Trim(strings.ReplaceAll(o.value.text, " ", ""), "") != "" && !plain(strings.ReplaceAll(o.value.text, " ", "")):
			l.note(o.value.text, " is split into words by env")
			return
		default:
			var words []value
			for word := range strings.FieldsSeq(o.value.text) {
				words = append(words, literal(word))
			}
			operands = append(words, operands...)
			if leave, ok := l.enter(); ok {
				l.args = operands
				l.env(s)
				leave()
			}
			return
		}
	}
	for len(operands) > 0 {
		text := operands[0].text
		if !operands[0].lit {
			text = operands[0].head
		}
		name, v, has := strings.Cut(text, "=")
		switch {
		case has && !operands[0].many:
			if !identifier(name) {
				l.note(text, " is a variable with a strange name")
			}
			l.assigns(name, value{text: v, lit: operands[0].lit})
			l.outer[name] = true
		case text == "-" && s.name == "env":
		default:
			l.starts(operands, false, false, l.appended)
			return
		}
		operands = operands[1:]
	}
	if l.appended {
		l.note("", s.name+" runs what "+l.through[len(l.through)-1]+" appends")
	}
}

// xargs walks a command whose last words, or some of them, come from the input.
func (l *launch) xargs(s *spec) {
	options, words, _ := s.parse(l, l.args, true)
	l.effects(s, options)
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
	if replaced != "" {
		for i, word := range words {
			if before, _, has := strings.Cut(word.text, replaced); has {
				words[i] = value{text: word.text, head: before}
			}
		}
	}
	l.starts(words, false, false, replaced == "" || l.appended)
}

// shellScript walks a shell with a text, or with a file.
func (l *launch) shellScript(s *spec) {
	args, text, language := l.args, false, s.name
options:
	for len(args) > 0 {
		arg := args[0]
		if !arg.lit || !arg.option() && !strings.HasPrefix(arg.text, "+") {
			break
		}
		args = args[1:]
		switch arg.text {
		case "--":
			break options
		case "--login":
			l.files()
			continue
		case "--norc", "--noprofile", "--verbose":
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
			case letter == 'o' && len(args) > 0 && args[0].lit && slices.Contains([]string{"pipefail", "errexit", "nounset", "xtrace", "noglob", "errtrace", "noclobber"}, args[0].text):
				args = args[1:]
			case !strings.ContainsRune("euxvfhmbCBETp", letter) || arg.text[0] == '+':
				l.note(arg.text, " is an option of "+s.name+" that is not known")
				return
			}
		}
	}
	switch {
	case len(args) == 0 && l.appended:
		l.note("", s.name+" runs what "+l.through[len(l.through)-1]+" appends")
	case text && len(args) > 0:
		if args[0].many {
			l.note(args[0].text, " is a script for "+s.name)
			return
		}
		l.script(language, args[0])
	default:
		l.file(s, args)
	}
}

// file walks an interpreter with a script in a file, or in its input.
func (l *launch) file(s *spec, args []value) {
	switch {
	case len(args) == 0, args[0].lit && args[0].text == "-":
		l.note("", s.name+" runs what its input says")
	case !args[0].lit:
		l.note(args[0].text, " is the name of a script")
	case strings.HasPrefix(args[0].text, "/dev/"), strings.HasPrefix(args[0].text, "/proc/"):
		l.note(args[0].text, " is a script that no file has")
	default:
		l.files()
		l.read(l.sc, args[0])
	}
}

func (l *launch) scriptFile(s *spec, args []value) {
	options, operands, ok := s.parse(l, args, true)
	l.effects(s, options)
	switch {
	case len(operands) > 0 && operands[0].lit && !strings.ContainsAny(operands[0].text, "./-"): // such as "test" or "install"
	case ok && (len(operands) > 0 || len(options) == 0):
		l.file(s, operands)
	}
}

func (l *launch) su() {
	l.note("", l.name+" runs the shell of another user")
	for i, arg := range l.args {
		if arg.lit && (arg.text == "-c" || arg.text == "--command") && i+1 < len(l.args) {
			l.script("sh", l.args[i+1])
		}
	}
}

// python walks python. Behind -m and -c its options end.
func (l *launch) python(s *spec) {
	at := slices.IndexFunc(l.args, func(v value) bool {
		return !v.option() || v.lit && !strings.HasPrefix(v.text, "--") && strings.ContainsAny(v.text, "mc")
	})
	if at < 0 || !l.args[at].option() || !l.args[at].lit || strings.HasPrefix(l.args[at].text, "-W") || strings.HasPrefix(l.args[at].text, "-X") {
		l.scriptFile(s, l.args)
		return
	}
	options, _, _ := s.parse(l, l.args[:at], true)
	l.effects(s, options)
	flags, module, _ := strings.Cut(l.args[at].text, "m")
	if module == "" && at+1 < len(l.args) && l.args[at+1].lit {
		module = l.args[at+1].text
	}
	if strings.Contains(flags, "c") || strings.Trim(flags, "-bBdEhiIOPqRsSuvx") != "" {
		l.note(l.args[at].text, " gives python a program")
		return
	}
	switch module {
	case "pytest", "unittest", "pip", "venv", "mypy", "black", "ruff", "flake8", "http.server", "build", "isort", "pylint", "tox", "django", "flask", "uvicorn", "this", "site":
	default:
		l.note(module, " is a module of python that can run or write what its arguments say")
	}
}
