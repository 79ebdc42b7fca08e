package shellfacts

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// special walks a program whose arguments a table does not explain. It returns false
// for the others.
func (l *launch) special(s *spec) bool {
	switch s.operands {
	case "any": // it runs what files say, whatever else its arguments say
	case "copy":
		l.copied(s)
	case "find":
		l.find()
	case "sed":
		l.sed(s)
	case "awk":
		l.awk(s)
	case "xargs":
		l.xargs(s)
	case "shell":
		l.shellScript()
	case "script":
		l.scriptFile(s)
	default:
		return false
	}
	return true
}

// copied walks cp, mv and ln: the last operand is written, or what an option
// names.
func (l *launch) copied(s *spec) {
	options, operands := l.parse(s, l.args)
	into := literal(".") // where ln makes a link without a second operand
	at := slices.IndexFunc(options, func(o flag) bool { return o.name == "t" || o.name == "target-directory" })
	switch n := len(operands) - 1; {
	case at >= 0:
		into = options[at].value
	case n > 0:
		into, operands = operands[n], operands[:n]
	}
	l.change(l.sc, into)
	for _, v := range operands {
		l.read(l.sc, v)
		if l.name == "mv" {
			l.change(l.sc, v)
		}
	}
}

// Tests and actions of find, by how many words follow them.
const (
	findNone = " -H -L -P ( ) ! , -a -and -o -or -not -daystart -depth -d -follow -mount -xdev -noleaf -empty -executable -false -true -nogroup -nouser " +
		"-readable -writable -print -print0 -prune -quit -ls -warn -nowarn "
	findOne = " -maxdepth -mindepth -regextype -amin -anewer -atime -cmin -cnewer -ctime -fstype -gid -group -ilname -iname -inum -ipath -iregex -iwholename " +
		"-links -lname -mmin -mtime -name -newer -newermt -newerct -newerat -path -perm -regex -samefile -size -type -uid -used -user -wholename -xtype -context -printf "
)

func (l *launch) find() {
	head, started := ".", false
	for args := l.args; len(args) > 0; {
		arg := args[0]
		args = args[1:]
		is := func(list string) bool { return arg.lit && strings.Contains(list, " "+arg.text+" ") }
		switch {
		case is(findNone):
		case is(findOne) && len(args) > 0 && !args[0].many:
			args = args[1:]
		case is(" -exec "):
			args = l.found(head, args)
		case started || arg.option():
			l.unclear(arg, "an operand")
		default: // where it starts
			l.read(l.sc, arg)
			if !arg.lit && arg.head == "" {
				head = ""
			}
			continue
		}
		started = true
	}
}

// found walks a command that find runs on names with such a beginning, and returns what
// follows it.
func (l *launch) found(head string, args []value) []value {
	var words []value
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg.many {
			l.unclear(arg, "an operand")
		}
		if arg.lit && (arg.text == ";" || arg.text == "+" && len(words) > 0 && words[len(words)-1].text == "{}") {
			break
		}
		if arg.lit && arg.text == "+" { // ends the command in busybox
			l.unclear(arg, "an operand")
		}
		if before, _, has := strings.Cut(arg.text, "{}"); has && arg.lit {
			if arg = (value{text: arg.text, head: before, many: arg.text == "{}"}); before == "" {
				arg.head = head
			}
		}
		words = append(words, arg)
	}
	l.starts(words, "")
	return args
}

// sed walks sed: its script may write files, and run commands.
func (l *launch) sed(s *spec) {
	options, operands := l.parse(s, l.args)
	given := l.effects(options)
	var scripts []value
	inPlace := false
	for _, o := range options {
		switch {
		case o.effect == 'e':
			scripts = append(scripts, o.value)
		case o.effect == 'f':
			if l.files(); o.value.special() || !o.value.lit {
				l.unclear(o.value, "a script")
			}
		case o.name == "i", o.name == "in-place":
			if inPlace = true; o.value.text != "" {
				l.unclear(o.value, "a suffix")
			}
		}
	}
	if !given && len(operands) > 0 {
		scripts, operands = operands[:1], operands[1:]
	}
	for _, script := range scripts {
		if !script.lit || !sedCalm().MatchString(script.text) {
			l.unclear(script, "a script")
		}
	}
	l.operands("r", operands, false)
	if inPlace {
		l.operands("m", operands, false)
	}
}

// sedCalm matches scripts that only change and print what they read, and that every
// sed understands alike: substitutions without the flags e and w, and some commands
// without an argument, on their addresses. A ] is the first letter of a bracket, and not
// its end.
var sedCalm = sync.OnceValue(func() *regexp.Regexp {
	const (
		class   = `\[:[a-z]+:\]`
		bracket = `\[(?:\^(?:[^/\\\[\n]|` + class + `)|[^^/\\\[\n]|` + class + `)(?:[^]/\\\[\n]|` + class + `)*\]`
		regex   = `(?:[^/\\\[\n]|\\[^\n]|` + bracket + `)*`
		text    = `(?:[^/\\\n]|\\[^\n])*`
		address = `(?:\d+|\$|/` + regex + `/)`
		command = `(?:[pdDgGhHnNxPq=]|s/` + regex + `/` + text + `/[gpI0-9]*)`
	)
	other := strings.NewReplacer("/", "#").Replace(command) + "|" + strings.NewReplacer("/", `\|`).Replace(command)
	one := `[ \t]*(?:` + address + `(?:,(?:\+?` + address + `))?)?!?[ \t]*(?:` + command + "|" + other + `)[ \t]*`
	return regexp.MustCompile(`^` + one + `(?:[;\n]` + one + `)*;?$`)
})

// awk walks awk: its program may run commands and write files, unless it has none of
// the words for it.
func (l *launch) awk(s *spec) {
	options, operands := l.parse(s, l.args)
	switch {
	case l.effects(options):
		l.files()
		for _, o := range options {
			if o.effect == 'f' && (!o.value.lit || o.value.special()) {
				l.unclear(o.value, "a program")
			}
		}
	case len(operands) > 0:
		text := operands[0].text
		calm := operands[0].lit && !strings.Contains(strings.ReplaceAll(text, "||", ""), "|") && !(strings.Contains(text, ">") && strings.Contains(text, "print"))
		for _, word := range []string{"system", "getline", "@", "\\\n", "/inet", "PROCINFO"} {
			calm = calm && !strings.Contains(text, word)
		}
		if operands = operands[1:]; !calm {
			l.note(text, " is a program of awk that may run or write something")
		}
	}
	l.operands("r", operands, false)
}
