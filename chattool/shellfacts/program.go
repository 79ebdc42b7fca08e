package shellfacts

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// special walks a program whose arguments a table does not explain. It returns false
// for the others.
func (l *launch) special(s *spec) bool {
	switch s.operands {
	case "copy":
		l.copied(s)
	case "tee":
		options, operands := l.parse(s, l.args)
		for _, v := range operands {
			l.write(l.sc, v, slices.ContainsFunc(options, func(o given) bool { return strings.HasPrefix(o.name, "a") }))
		}
	case "date":
		options, operands := l.parse(s, l.args)
		l.effects(options)
		for _, v := range operands {
			if !strings.HasPrefix(v.text, "+") && !strings.HasPrefix(v.head, "+") {
				l.unclear(v, "an operand")
			}
		}
	case "chmod": // -x is a mode, and no option
		options, operands := l.parse(s, l.args)
		mode := slices.ContainsFunc(options, func(o given) bool { return strings.Contains("rwxXstugo", o.name) })
		l.operands("em", operands, l.effects(options) || mode)
	case "dd":
		l.dd()
	case "find":
		l.find()
	case "sed":
		l.sed(s)
	case "awk":
		l.awk(s)
	case "tar":
		l.tar(s)
	case "args":
		l.risks()
	case "env":
		l.env(s, l.args)
	case "xargs":
		l.xargs(s)
	case "shell":
		l.shellScript()
	case "python":
		l.python(s)
	case "script":
		l.scriptFile(s)
	default:
		return false
	}
	return true
}

// copied walks cp, mv, ln and install: the last operand is written, or what an option
// names.
func (l *launch) copied(s *spec) {
	options, operands := l.parse(s, l.args)
	var into value
	found, below := false, false
	for _, o := range options {
		switch {
		case o.name == "t", o.name == "target-directory":
			into, found, below = o.value, true, true
		case l.name == "install" && (o.name == "d" || o.name == "directory"):
			l.operands("m", operands, false)
			return
		}
	}
	if n := len(operands) - 1; !found && n > 0 {
		into, operands, found = operands[n], operands[:n], true
	}
	if !found { // ln makes a link here
		into, below = literal("."), true
	}
	if below = below || len(operands) > 1 || slices.Contains([]string{".", "..", ""}, path.Base(into.text)) || strings.HasSuffix(into.text, "/"); !below || !into.lit {
		l.change(l.sc, into, false)
	}
	for _, v := range operands {
		l.read(l.sc, v)
		if l.name == "mv" {
			l.change(l.sc, v, false)
		}
		if below && into.lit {
			v.text = strings.TrimSuffix(into.text, "/") + "/" + path.Base(v.text)
			l.change(l.sc, v, false)
		}
	}
}

func (l *launch) dd() {
	for _, arg := range l.args {
		key, name, _ := strings.Cut(arg.text, "=")
		v := value{text: name, lit: arg.lit}
		switch {
		case !arg.lit && arg.head == "":
			l.unclear(arg, "an operand")
		case key == "of":
			l.write(l.sc, v, false)
		case key == "if":
			l.read(l.sc, v)
		case !slices.Contains(strings.Fields("bs cbs ibs obs count skip seek conv status iflag oflag iseek oseek"), key):
			l.unclear(arg, "an operand")
		}
	}
}

// Tests and actions of find, by how many words follow them.
const (
	findNone = " -H -L -P ( ) ! , -a -and -o -or -not -daystart -depth -d -follow -mount -xdev -noleaf -empty -executable -false -true -nogroup -nouser " +
		"-readable -writable -print -print0 -prune -quit -ls -warn -nowarn "
	findOne = " -maxdepth -mindepth -regextype -amin -anewer -atime -cmin -cnewer -ctime -fstype -gid -group -ilname -iname -inum -ipath -iregex -iwholename " +
		"-links -lname -mmin -mtime -name -newer -newermt -newerct -newerat -path -perm -regex -samefile -size -type -uid -used -user -wholename -xtype -context -printf "
	findWrites = " -fprint -fprint0 -fls -fprintf "
	findRuns   = " -exec -execdir -ok -okdir "
)

func (l *launch) find() {
	head, started := ".", false
	for args := l.args; len(args) > 0; {
		arg := args[0]
		args = args[1:]
		is := func(list string) bool { return arg.lit && strings.Contains(list, " "+arg.text+" ") }
		switch {
		case is(findNone):
		case (is(findOne) || is(findWrites)) && len(args) > 0 && !args[0].many:
			if is(findWrites) {
				l.write(l.sc, args[0], false)
			}
			if args = args[1:]; arg.text == "-fprintf" && len(args) > 0 && !args[0].many {
				args = args[1:]
			}
		case is(findRuns):
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
		if before, _, has := strings.Cut(arg.text, "{}"); has && arg.lit {
			if arg = (value{text: arg.text, head: before, many: arg.text == "{}"}); before == "" {
				arg.head = head
			}
		}
		words = append(words, arg)
	}
	here := l.sc
	if slices.ContainsFunc(l.args, func(v value) bool { return strings.HasSuffix(v.text, "dir") && strings.HasPrefix(v.text, "-") }) {
		l.sc = &scope{} // the directory of each file
	}
	l.starts(words, false, "")
	l.sc = here
	return args
}

// tar walks tar when it makes an archive. Whatever else it does, the archive decides.
func (l *launch) tar(s *spec) {
	args := slices.Clone(l.args)
	if len(args) > 0 && args[0].lit && !args[0].option() {
		args[0] = literal("-" + args[0].text) // with one value at most, behind the last letter
		if at := strings.IndexAny(args[0].text, "fCXbVN"); at >= 0 && at < len(args[0].text)-1 {
			l.unclear(args[0], "an option")
		}
	}
	options, operands := l.parse(s, args)
	l.effects(options)
	archive := value{}
	for _, o := range options {
		switch compressor := map[string]string{"z": "gzip", "gzip": "gzip", "j": "bzip2", "bzip2": "bzip2", "J": "xz", "xz": "xz"}[o.name]; {
		case o.name == "f", o.name == "file":
			archive = o.value
		case compressor != "":
			l.starts([]value{literal("/bin/sh"), literal("-c"), literal(compressor)}, false, "")
		}
	}
	if makes := func(o given) bool { return o.name == "c" || o.name == "create" }; !slices.ContainsFunc(options, makes) || archive.text == "" || strings.Contains(archive.text, ":") {
		l.note(archive.text, " is an archive that says what tar does")
	}
	if archive.text != "-" {
		l.change(l.sc, archive, false)
	}
	l.operands("r", operands, false)
}

// risky has the beginnings of arguments that have a program run or write what nobody
// expects of it, and outputs the options whose value is a file that it writes. All
// these programs run what files say anyway.
const (
	risky = "--upload-pack --receive-pack --ext-diff --open-files-in-pager --exec --extcmd --config --template --textconv --tool --output ext:: filter-branch difftool mergetool " +
		"bisect -toolexec -vettool -exec -overlay -modfile -gccgoflags -ldflags -fixtool --toolexec --vettool --overlay " +
		"SHELL MAKE --eval -E -f- -f/dev/ /dev/ .SHELL @ -wrapper -specs --specs -B -fplugin -O/ -Olocal --script-shell --node-options --call"
	outputs = " -o -coverprofile -cpuprofile -memprofile -blockprofile -mutexprofile -trace --output "
)

// risks walks a program that runs what files say, for what its arguments add to that.
func (l *launch) risks() {
	for i, arg := range l.args {
		text, v := arg.text, arg
		if !arg.lit {
			text = arg.head
		}
		option, file, has := strings.Cut(text, "=")
		if strings.Contains(outputs, " "+option+" ") && (has || i+1 < len(l.args)) {
			if !has {
				v = l.args[i+1]
			} else if arg.lit {
				v = literal(file)
			}
			l.write(l.sc, v, false)
			continue
		}
		// -c of git is configuration in front of its command, and -f - of make is its input.
		risk := text == "-" || text == "-w" && l.name == "gofmt" || l.name == "git" && (strings.HasPrefix(text, "-O") || text == "-c" && !slices.ContainsFunc(l.args[:i], func(v value) bool { return !v.option() }))
		for begin := range strings.FieldsSeq(risky) {
			risk = risk || strings.HasPrefix(text, begin) || len(option) > 4 && strings.HasPrefix(begin, option)
		}
		if risk {
			l.unclear(arg, "an argument")
		}
	}
}

// sed walks sed: its script may write files, and run commands.
func (l *launch) sed(s *spec) {
	options, operands := l.parse(s, l.args)
	given := l.effects(options)
	var scripts []value
	inPlace, suffix := false, ""
	for _, o := range options {
		switch {
		case o.effect == 'e':
			scripts = append(scripts, o.value)
		case o.effect == 'f':
			if l.files(); o.value.special() || !o.value.lit {
				l.unclear(o.value, "a script")
			}
		case o.name == "i", o.name == "in-place":
			inPlace, suffix = true, o.value.text
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
	if !inPlace {
		return
	}
	l.operands("m", operands, false)
	if strings.ContainsAny(suffix, "*/") {
		l.note(suffix, " names the copies that sed makes")
	}
	for _, v := range operands {
		if suffix != "" {
			v.text += suffix
			l.change(l.sc, v, false)
		}
	}
}

// sedCalm matches scripts that only change and print what they read, and that every
// sed understands alike: substitutions without the flags e and w, and some commands
// without an argument, on their addresses.
var sedCalm = sync.OnceValue(func() *regexp.Regexp {
	const (
		regex   = `(?:[^/\\\[\n]|\\[^\n]|\[\^?\]?(?:[^]/\\\[\n])*\])*`
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
