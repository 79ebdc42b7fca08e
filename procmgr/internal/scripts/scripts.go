package scripts

import (
	"path/filepath"
	"slices"
	"strings"
)

// A Run is a program of a command that may run a file.
type Run struct {
	dir  string // its directory, relative to the command's
	path string // the program as the command calls it, if it has a /
	name string // the program's name, without its directory and its version
	args []word
}

// Of returns the programs that a command plainly runs. It reads no file.
func Of(command string) (runs []Run) {
	dir := ""
	for _, s := range split(command) {
		if slices.ContainsFunc(reserved, s.words[0].is) {
			return nil
		}
		if s.words[0].is("cd") {
			if s.maybe || s.apart || len(s.words) != 2 || !s.words[1].known || s.words[1].text == "" || s.words[1].text[0] == '-' {
				return runs // the new directory is not known
			}
			dir = join(dir, s.words[1].text)
			continue
		}
		words := unwrap(s.words)
		if s.maybe || len(words) == 0 || !words[0].known || words[0].text == "" {
			continue
		}
		run := Run{dir: dir, args: words[1:], name: words[0].text}
		if strings.Contains(run.name, "/") {
			run.path = run.name
			run.name = run.name[strings.LastIndexByte(run.name, '/')+1:]
		}
		if run.name != "." {
			run.name = strings.TrimRight(run.name, "0123456789.")
		}
		if run.path != "" || programOf(run.name) != nil {
			runs = append(runs, run)
		}
	}
	return runs
}

// reserved are the words that begin anything but a simple command, and two that
// change the directory.
var reserved = strings.Fields("if then else elif fi for while until do done case esac function select } ! [[ pushd popd")

// unwrap removes the words before a program: assignments, and programs that run
// another one unchanged.
func unwrap(words []word) []word {
	for len(words) > 0 {
		switch w := words[0]; {
		case isAssignment(w), w.known && slices.Contains(wrappers, w.text):
			words = words[1:]
		case w.is("timeout") && len(words) > 1 && words[1].option() == "":
			words = words[2:]
		default:
			return words
		}
	}
	return nil
}

var wrappers = strings.Fields("command env exec nice nohup time")

// isAssignment reports whether a word is NAME=value.
func isAssignment(w word) bool {
	name, _, ok := strings.Cut(w.text, "=")
	return ok && name != "" && strings.Trim(name, "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}

// Texts returns the texts of the files that runs have, for a command that runs
// in dir. Of a package.json it returns the scripts that run. It leaves out
// files that are missing, not regular or not text. It reads at most 4 files,
// and the first 256 KiB of each.
func Texts(runs []Run, dir string) []string {
	r := reader{files: 4, depth: 2}
	r.read(runs, dir)
	return r.texts
}

// A reader reads the files of a command.
type reader struct {
	texts []string
	files int // how many more may be read
	depth int // how many levels of package.json scripts may still follow
}

func (r *reader) read(runs []Run, dir string) {
	for _, run := range runs {
		dir := join(dir, run.dir)
		if run.path != "" {
			r.add(join(dir, run.path))
		}
		if program := programOf(run.name); program != nil {
			program(r, dir, run.args)
		}
	}
}

// add reads one file, and reports whether it had text.
func (r *reader) add(path string) bool {
	text := r.text(path)
	if text != "" {
		r.texts = append(r.texts, text)
	}
	return text != ""
}

// text returns the text of one file, or "".
func (r *reader) text(path string) string {
	if r.files == 0 {
		return ""
	}
	text := readText(path)
	if text != "" {
		r.files--
	}
	return text
}

// join does the same as filepath.Join, for a path that may be absolute.
func join(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
