package shellfacts

import (
	"slices"
	"strings"
)

// special walks a program whose arguments getopt does not explain. It returns false
// for the others.
func (l *launch) special(s *spec) bool {
	switch s.operands {
	case "copy":
		l.copied(s)
	case "tee":
		l.teed(s)
	case "date":
		l.date(s)
	case "chmod":
		l.chmod(s)
	case "dd":
		l.dd()
	case "find":
		l.find()
	case "sed":
		l.sed(s)
	case "awk":
		l.awk(s)
	case "tar":
		l.tar()
	case "test": // only the shell's own has arrays
	case "files":
	case "git":
		l.git()
	case "go":
		l.goTool()
	case "make":
		l.make()
	case "compiler":
		l.compiler()
	default:
		return l.starter(s)
	}
	return true
}

func (l *launch) date(s *spec) {
	options, operands, _ := s.parse(l, l.args, false)
	l.effects(s, options)
	for _, v := range operands {
		if !strings.HasPrefix(v.text, "+") && !strings.HasPrefix(v.head, "+") {
			l.note(v.text, " may be a time that date sets")
		}
	}
}

func (l *launch) chmod(s *spec) {
	options, operands, _ := s.parse(l, l.args, false)
	letters := "em"
	// -x is a mode, and no option.
	if l.effects(s, options) || slices.ContainsFunc(options, func(o given) bool { return strings.Contains("rwxXstugo", o.name) }) {
		letters = "m"
	}
	l.operands(&spec{name: s.name, operands: letters}, operands, false)
	if l.appended {
		l.note("", "chmod changes what "+l.through[len(l.through)-1]+" appends")
	}
}

func (l *launch) dd() {
	for _, arg := range l.args {
		text := arg.text
		if !arg.lit {
			text = arg.head
		}
		key, name, _ := strings.Cut(text, "=")
		v := literal(name)
		if !arg.lit {
			v = value{text: arg.text}
		}
		switch key {
		case "of":
			l.write(l.sc, v, false)
		case "if":
			l.read(l.sc, v)
		case "bs", "cbs", "ibs", "obs", "count", "skip", "seek", "conv", "status", "iflag", "oflag", "iseek", "oseek":
		default:
			l.note(arg.text, " is an operand of dd that is not known")
		}
	}
	if l.appended {
		l.note("", "dd gets operands that are not known")
	}
}

// find walks the expression of find.
func (l *launch) find() {
	args := l.args
	if l.appended {
		l.note("", "find gets an expression that is not known")
	}
	for len(args) > 0 && args[0].lit && slices.Contains([]string{"-H", "-L", "-P"}, args[0].text) {
		args = args[1:]
	}
	started := false // the expression has
	var from []value
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if !arg.lit {
			if started || arg.option() {
				l.note(arg.text, " may be an action of find")
			} else {
				l.read(l.sc, arg)
			}
			from = append(from, arg)
			continue
		}
		switch arg.text {
		case "(", ")", "!", ",":
			started = true
			continue
		}
		if !strings.HasPrefix(arg.text, "-") || arg.text == "-" {
			if started {
				l.note(arg.text, " is an operand of find that is not known")
			}
			l.read(l.sc, arg)
			from = append(from, arg)
			continue
		}
		started = true
		take := 0
		switch arg.text[1:] {
		case "a", "and", "o", "or", "not", "daystart", "depth", "d", "follow", "mount", "xdev", "noleaf", "empty", "executable", "false", "true",
			"nogroup", "nouser", "readable", "writable", "print", "print0", "prune", "quit", "ls", "warn", "nowarn", "ignore_readdir_race", "noignore_readdir_race":
		case "maxdepth", "mindepth", "regextype", "amin", "anewer", "atime", "cmin", "cnewer", "ctime", "fstype", "gid", "group", "ilname", "iname", "inum", "ipath",
			"iregex", "iwholename", "links", "lname", "mmin", "mtime", "name", "newer", "newermt", "newerct", "newerat", "path", "perm", "regex", "samefile", "size", "type", "uid",
			"used", "user", "wholename", "xtype", "context", "printf":
			take = 1
		case "fprint", "fprint0", "fls", "fprintf":
			take = 1
			if arg.text == "-fprintf" {
				take = 2
			}
			if len(args) > 0 {
				l.write(l.sc, args[0], false)
			}
		case "exec", "execdir", "ok", "okdir":
			args = l.found(arg.text, from, args)
		case "delete":
			l.note("", "find deletes what it finds")
		default:
			l.note(arg.text, " is an option of find that is not known")
		}
		if slices.ContainsFunc(args[:min(take, len(args))], func(v value) bool { return v.many }) {
			l.note(args[0].text, " may become several words, one of them an action of find")
		}
		args = args[min(take, len(args)):]
	}
}

// found walks a command that find runs, and returns what follows it.
func (l *launch) found(action string, from, args []value) []value {
	var words []value
	end := false
	for len(args) > 0 && !end {
		arg := args[0]
		args = args[1:]
		switch {
		case !arg.lit && arg.many:
			l.note(arg.text, " may become several words, one of them an action of find")
		case arg.lit && arg.text == ";", arg.lit && arg.text == "+" && len(words) > 0 && words[len(words)-1].text == "{}":
			end = true
			continue
		}
		words = append(words, arg)
	}
	// The words begin with where find starts.
	head := "."
	for _, v := range from {
		if v.lit && strings.HasPrefix(v.text, "-") || !v.lit {
			head = ""
		}
	}
	for i, word := range words {
		if before, _, has := strings.Cut(word.text, "{}"); has && word.lit {
			if before == "" {
				before = head
			}
			words[i] = value{text: word.text, head: before, many: word.text == "{}"}
		}
	}
	if len(words) > 0 && strings.Contains(action, "dir") {
		sc := l.sc
		l.sc = &scope{}
		l.starts(words, false, false, false)
		l.sc = sc
	} else {
		l.starts(words, false, false, false)
	}
	return args
}

// tar walks tar. Its first word may be options without a dash, whose values follow in
// the same order.
func (l *launch) tar() {
	s := parseSpec("tar", "-cxtruAdvzjJZapkmOPSsBinoUhlW -f:. -C:. -X:r -b: -V: -N: -H: -I:! -F:! -T:! -g:! "+
		"--create --extract --get --list --append --update --concatenate --diff --compare --verbose --gzip --gunzip --bzip2 --xz --zstd --compress --auto-compress --file:. --directory:. "+
		"--exclude: --exclude-from:r --exclude-vcs --exclude-vcs-ignores --strip-components: --no-same-owner --same-owner --owner: --group: --to-stdout --wildcards --no-recursion --numeric-owner "+
		"--sort: --mtime: --format: --totals --keep-old-files --overwrite --null --dereference --preserve-permissions --same-permissions --no-same-permissions --anchored --one-file-system "+
		"--to-command:! --checkpoint-action:! --checkpoint:! --use-compress-program:! --info-script:! --new-volume-script:! --rsh-command:! --rmt-command:! --files-from:! --index-file:! --version --help")
	args := l.args
	var options []given
	if len(args) > 0 && args[0].lit && !args[0].option() {
		letters := args[0].text
		args = args[1:]
		for i := range len(letters) {
			o, ok := s.short[letters[i]]
			if !ok {
				l.note(letters, " is an option of tar that is not known")
			}
			g := given{name: letters[i : i+1], effect: o.effect}
			if o.value == ':' {
				g.value, args = l.next(s, args)
			}
			options = append(options, g)
		}
	}
	more, operands, _ := s.parse(l, args, false)
	options = append(options, more...)
	l.effects(s, options)
	if l.appended {
		l.note("", "what "+l.through[len(l.through)-1]+" appends may be options of tar")
	}
	mode, archive, compressor := "", value{}, ""
	for _, o := range options {
		switch {
		case o.name == "f", o.name == "file":
			archive = o.value
		case o.effect == '.':
		case len(o.name) == 1 && strings.Contains("cxtruAd", o.name):
			mode = o.name
		case len(o.name) == 1:
			compressor = map[string]string{"z": "gzip", "j": "bzip2", "J": "xz", "Z": "compress", "a": "!", "": ""}[o.name] + compressor
		default:
			if short, ok := map[string]string{"create": "c", "extract": "x", "get": "x", "list": "t", "append": "r", "update": "u", "concatenate": "A", "diff": "d", "compare": "d"}[o.name]; ok {
				mode = short
			}
			if name, ok := map[string]string{"gzip": "gzip", "gunzip": "gzip", "bzip2": "bzip2", "xz": "xz", "zstd": "zstd", "compress": "!", "auto-compress": "!"}[o.name]; ok {
				compressor = name
			}
		}
	}
	if archive.text == "" || !archive.lit && archive.text == "?" {
		l.note("", "tar uses an archive that is not known")
	} else if strings.Contains(archive.text, ":") {
		l.note(archive.text, " may be an archive on another machine")
	}
	switch mode {
	case "c", "r", "u":
		if archive.text != "-" {
			l.change(l.sc, archive, mode != "c")
		}
		for _, v := range operands {
			l.read(l.sc, v)
		}
	case "t":
		l.read(l.sc, archive)
		if compressor == "" {
			l.note("", "tar runs a program that decompresses, if the archive is compressed")
		}
	default:
		l.read(l.sc, archive)
		l.note("", "an archive says which files tar writes")
	}
	switch compressor {
	case "":
	case "gzip", "bzip2", "xz", "zstd":
		l.starts([]value{literal("/bin/sh"), literal("-c"), literal(compressor)}, false, false, false)
	default:
		l.note("", "tar runs a program that compresses")
	}
}

// git walks git. It runs what the repository and the user's configuration say, whatever
// its arguments are. These run more.
func (l *launch) git() {
	command := ""
	for i, arg := range l.args {
		text := arg.text
		if !arg.lit {
			text = arg.head
		}
		name, output, has := strings.Cut(text, "=")
		switch {
		case command == "" && (name == "-C" || name == "--git-dir" || name == "--work-tree"):
			if name == "-C" && i+1 < len(l.args) || !has {
				command = "\x00" // the next word is a directory
			}
		case command == "\x00":
			command = ""
		case command == "" && name == "-c", command == "" && name == "--config-env", command == "" && name == "--exec-path" && has:
			l.note(arg.text, " is configuration that git may run")
			if !has {
				command = "\x00"
			}
		case command == "" && arg.lit && !strings.HasPrefix(text, "-"):
			command = text
			switch command {
			case "difftool", "mergetool", "filter-branch", "web--browse", "bisect", "submodule", "config", "daemon", "upload-pack", "shell", "send-email", "instaweb", "credential", "remote-ext":
				if command != "config" && command != "submodule" && command != "bisect" || len(l.args) > i+2 {
					l.note("git "+command, " can run what its arguments say")
				}
			}
		case name == "--output" && has && arg.lit:
			l.change(l.sc, literal(output), false)
		case len(name) > 4 && slices.ContainsFunc([]string{"--upload-pack", "--receive-pack", "--output", "--ext-diff", "--open-files-in-pager", "--exec", "--extcmd", "--config", "--template", "--output-directory", "--textconv", "--tool", "--contents"}, func(long string) bool { return strings.HasPrefix(long, name) }),
			strings.HasPrefix(text, "-O") && command == "grep", strings.HasPrefix(text, "-x") && command == "rebase", strings.HasPrefix(text, "-i") && command == "rebase",
			strings.HasPrefix(text, "-u") && (command == "clone" || command == "fetch-pack"), name == "-c" && command == "clone", strings.HasPrefix(text, "-o") && (command == "format-patch" || command == "archive"),
			strings.HasPrefix(text, "ext::"):
			l.note(arg.text, " is an option of git that can run or write something")
		}
	}
}

// goTool walks go and gofmt, which run what go.mod, go generate and tests say.
func (l *launch) goTool() {
	if len(l.args) > 1 && l.args[0].text == "env" {
		for _, arg := range l.args[1:] {
			if !arg.lit || arg.option() {
				l.note(arg.text, " may change the configuration of go")
			}
		}
	}
	for i, arg := range l.args {
		text := arg.text
		if !arg.lit {
			text = arg.head
		}
		name, file, has := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(text, "-"), "-"), "=")
		if !strings.HasPrefix(text, "-") {
			continue
		}
		switch name {
		case "toolexec", "vettool", "exec", "overlay", "modfile", "gccgoflags", "ldflags", "fixtool":
			l.note(arg.text, " is an option of go that can run something")
		case "o", "coverprofile", "cpuprofile", "memprofile", "blockprofile", "mutexprofile", "trace":
			v := literal(file)
			switch {
			case !has && i+1 < len(l.args):
				v = l.args[i+1]
			case !arg.lit:
				v = value{text: arg.text}
			}
			l.write(l.sc, v, false)
		}
	}
}

func (l *launch) make() {
	for i, arg := range l.args {
		switch text := arg.text; {
		case !arg.lit && arg.head == "":
		case strings.HasPrefix(text, "SHELL"), strings.HasPrefix(text, "--ev"), strings.HasPrefix(text, "-E"), strings.HasPrefix(text, "MAKE"):
			l.note(text, " says what make runs")
		case text == "-f" && i+1 < len(l.args) && (l.args[i+1].text == "-" || !l.args[i+1].lit || strings.HasPrefix(l.args[i+1].text, "/dev/")), text == "-f-", strings.HasPrefix(text, "-f/dev/"):
			l.note("", "make runs what its input says")
		}
	}
}

func (l *launch) compiler() {
	for i, arg := range l.args {
		switch text := arg.text; {
		case text == "-o" && i+1 < len(l.args):
			l.write(l.sc, l.args[i+1], false)
		case strings.HasPrefix(text, "-o") && arg.lit:
			l.write(l.sc, literal(text[2:]), false)
		case strings.HasPrefix(text, "@"), strings.HasPrefix(text, "-wrapper"), strings.HasPrefix(text, "-specs"), strings.HasPrefix(text, "-B"), strings.HasPrefix(text, "-fplugin"),
			strings.HasPrefix(text, "-J"), strings.HasPrefix(text, "-Clinker"), strings.HasPrefix(text, "-Xclang"):
			l.note(text, " is an option of "+l.name+" that can run something")
		}
	}
}
