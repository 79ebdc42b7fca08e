package shellfacts

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Facts are what is known of a command before it runs.
type Facts struct {
	// Programs has each simple command, in the order in which they may run:
	// programs, builtins of the shell, and programs started by other programs. A
	// call of a function is not one of them; the commands in the function are.
	// Some of them may not run, such as those behind an if.
	Programs []Program

	// Writes and Reads are the files named by redirections and by the
	// arguments of known programs. A write is whatever changes a file or
	// directory, such as to remove it. Of cp, mv and ln it is the file, or
	// the directory that gets their files.
	// /dev/null, and what the shell already has open, such as /dev/stdout, are
	// not there.
	Writes, Reads []Path

	// Complete is true if of the text, and of the known programs, nothing is
	// left that could run or write something else. It says nothing of a Program
	// that is not Known, or that has Files.
	Complete bool

	// Why has the reasons for which Complete is false, for a person: "$X is the
	// name of a program".
	Why []string
}

// A Program is a simple command.
type Program struct {
	// Name is the name or path by which the command is called, without
	// quotes. If it is not known, it is as the command writes it, Known is
	// false, and the Facts are not Complete.
	Name string

	// Args are the words after the name, as the program gets them. A word that
	// is not known before the command runs is as the command writes it, and
	// Literal is false. find and xargs append words that Args does not have,
	// and Literal is false for these too.
	Args    []string
	Literal bool

	// Known is true for a builtin, and for a program whose options Parse knows.
	Known bool

	// Files is true if the program runs what files say: a script, a Makefile,
	// the configuration of a repository, the code that a test has.
	Files bool

	// Through has the programs that start this one, the outermost first, as in
	// "env" and "timeout".
	Through []string
}

// A Path is a file that a command reads or writes.
type Path struct {
	// Name is the name that the shell or the program gets, without quotes. If
	// it is not known before the command runs, Name is as the command writes
	// it, and Literal is false.
	Name    string
	Literal bool

	// Path is Name, from the directory in which the command starts, after each
	// cd in front of it. A symbolic link may still lead elsewhere. It is "" if it
	// is not known, as behind a cd that may or may not have happened.
	Path string
}

const (
	maxText  = 64 << 10 // bytes of a command
	maxDeep  = 100      // groups, texts and programs within each other
	maxFacts = 500      // programs, and files
	maxWhy   = 10       // reasons
)

// Parse returns the facts of a command. shell is the base name of the shell that runs
// it, such as "bash". Parse knows "bash", "dash", "sh" and "ash". For any other shell,
// and for "", which is an unknown one, the Facts are as for sh and not Complete. They
// are not Complete either if the command is longer than 64 KiB, is nested more than 100
// levels deep, or has syntax that the package doc does not name: Parse stops reading
// there.
func Parse(command, shell string) Facts {
	w := new(walker)
	w.shell(command, shell, new(scope), nil)
	w.facts.Complete = len(w.facts.Why) == 0
	return w.facts
}

// pattern compiles a regular expression when it is first needed.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// quoted is a text of the command in a reason, short enough for a line.
func quoted(text string) string {
	const longest = 60
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// write and read add a file to the facts.
func (w *walker) write(sc *scope, v value) {
	if !harmless(v) {
		w.change(sc, v)
	}
}

// harmless reports whether to write to a file changes none.
func harmless(v value) bool { return v.lit && v.text == "/dev/null" }

// change is write for what changes the file itself: to remove /dev/null is no write
// to it.
func (w *walker) change(sc *scope, v value) {
	w.facts.Writes = w.paths(w.facts.Writes, sc, v)
	switch {
	case !v.lit:
		w.note(v.text, " is the name of a file that is written")
	case sc.lost && !path.IsAbs(v.text) && v.text != "":
		w.note(v.text, " is written in a directory that is not known")
	}
}

func (w *walker) read(sc *scope, v value) {
	if !harmless(v) && v.text != "-" {
		w.facts.Reads = w.paths(w.facts.Reads, sc, v)
	}
}

func (w *walker) paths(to []Path, sc *scope, v value) []Path {
	p := Path{Name: v.text, Literal: v.lit}
	switch {
	case len(to) >= maxFacts:
		w.note("", "the command names too many files")
		return to
	case v.lit && v.text == "":
		return to // no file has this name
	case v.lit && path.IsAbs(v.text):
		p.Path = v.text
	case v.lit && !sc.lost:
		p.Path = below(sc.dir, v.text)
	}
	if p.Path == "" && v.special() || device(p.Path) && !harmless(v) {
		w.note(v.text, " is no plain file")
	}
	if slices.Contains(to, p) {
		return to
	}
	return append(to, p)
}

// notPlain matches paths of files that are none on a disk. What is opened by such a name
// may be another file, such as the one that is the input.
var notPlain = pattern(`^(?:(?:/|(?:\.\./)+)(?:dev|proc)|dev/(?:std(?:in|out|err)|fd)|proc/(?:self|thread-self|[0-9]+))(?:/|$)`)

func device(name string) bool { return notPlain().MatchString(path.Clean(name)) }

// below returns a relative name below a directory. It is not cleaned: if a directory
// is a symbolic link, "link/../x" is not "x".
func below(dir, name string) string {
	if dir == "" {
		return name
	}
	return strings.TrimSuffix(dir, "/") + "/" + name
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
