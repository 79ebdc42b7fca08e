package scripts

import (
	"encoding/json"
	"path/filepath"
	"strings"
)

// programOf returns the function that reads the files in a program's arguments,
// or nil if the program is not known here.
func programOf(name string) func(r *reader, dir string, args []word) {
	switch name {
	case ".", "source":
		return runSourced
	case "sh", "bash", "dash", "zsh", "ksh":
		return runShell
	case "python", "node", "ruby", "perl", "php":
		return runInterpreter
	case "make", "gmake":
		return runMake
	case "npm", "pnpm", "yarn", "bun":
		return runPackage
	case "go":
		return runGo
	}
	return nil
}

func runSourced(r *reader, dir string, args []word) { r.first(dir, args) }

// first reads the file that is the first argument.
func (r *reader) first(dir string, args []word) {
	if len(args) > 0 && args[0].known && args[0].text != "" {
		r.add(join(dir, args[0].text))
	}
}

// runShell reads the script of a shell: bash -eu -o pipefail x.sh.
func runShell(r *reader, dir string, args []word) {
	for len(args) > 0 && args[0].option() != "" {
		option := args[0].text
		args = args[1:]
		switch {
		case option == "--":
			r.first(dir, args)
			return
		case strings.HasPrefix(option, "--"):
			if option != "--login" && option != "--norc" && option != "--noprofile" && option != "--posix" {
				return
			}
		case strings.ContainsAny(option, "cs"): // it runs no file
			return
		case strings.HasSuffix(option, "o") && len(args) > 0:
			args = args[1:]
		}
	}
	r.first(dir, args)
}

// runInterpreter reads the script of another interpreter. That is the first
// word that is no option. If the word belongs to an option, it is hardly ever a
// file.
func runInterpreter(r *reader, dir string, args []word) {
	for len(args) > 0 && args[0].option() != "" {
		option := args[0].text
		args = args[1:]
		long := strings.HasPrefix(option, "--")
		if !long && strings.ContainsAny(option, "cemnprE") || strings.HasPrefix(option, "--eval") || strings.HasPrefix(option, "--print") {
			return // code, or the name of a module
		}
		if option == "--" {
			break
		}
	}
	r.first(dir, args)
}

// runGo reads the file of go run x.go.
func runGo(r *reader, dir string, args []word) {
	if len(args) > 1 && args[0].is("run") && strings.HasSuffix(args[1].text, ".go") {
		r.first(dir, args[1:])
	}
}

// runMake reads the makefile.
func runMake(r *reader, dir string, args []word) {
	file := ""
	for len(args) > 0 {
		option := args[0].option()
		args = args[1:]
		value := ""
		switch {
		case option == "-C", option == "-f", option == "--directory", option == "--file", option == "--makefile":
			if len(args) == 0 || !args[0].known {
				return
			}
			value, args = args[0].text, args[1:]
		case strings.HasPrefix(option, "--"):
			option, value, _ = strings.Cut(option, "=")
		case strings.HasPrefix(option, "-C"), strings.HasPrefix(option, "-f"):
			option, value = option[:2], option[2:]
		}
		switch option {
		case "-C", "--directory":
			dir = join(dir, value)
		case "-f", "--file", "--makefile":
			file = value
		}
	}
	if file != "" {
		r.add(join(dir, file))
		return
	}
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} { // as make looks for them
		if r.add(filepath.Join(dir, name)) {
			return
		}
	}
}

// runPackage takes the script in package.json that npm run x and similar
// commands run, and then the scripts and files that this script runs.
func runPackage(r *reader, dir string, args []word) {
	name := ""
	for len(args) > 0 && name == "" {
		w := args[0]
		args = args[1:]
		switch {
		case !w.known:
			return
		case w.text == "run", w.text == "run-script":
		case w.text == "-s", w.text == "--silent", w.text == "--if-present":
		case w.option() != "":
			return // the option may name another directory
		case w.text == "t":
			name = "test"
		default:
			name = w.text
		}
	}
	if name == "" || r.depth == 0 {
		return
	}
	var file struct {
		Scripts map[string]string `json:"scripts"`
	}
	if err := json.Unmarshal([]byte(r.text(filepath.Join(dir, "package.json"))), &file); err != nil {
		return // there is no such file, or npm refuses it too
	}
	r.depth--
	for _, script := range []string{"pre" + name, name, "post" + name} {
		if text := file.Scripts[script]; text != "" {
			r.texts = append(r.texts, text)
			r.read(Of(text), dir)
		}
	}
	r.depth++
}
