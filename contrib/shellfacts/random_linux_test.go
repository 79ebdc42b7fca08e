package shellfacts_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/toolproc/toolproc/contrib/shellfacts"
)

// grammar has the forms of each part of a random script, of the allowed syntax and of what
// is next to it: <list> stands for one of the forms of a list. Scripts end, and write only
// below their directory. TestRefused and TestHeldHostileTexts have the syntax that is not
// allowed.
var grammar = map[string][]string{
	"script":    {"<lines>", "<lines>", "<lines>", "cd sub && <lines>", "cd nothing && <lines>", "cd .. && <lines>"},
	"lines":     {"<list>", "<list>", "<list>", "<part>", "<list><tail>", "<list><tail>\n<list>"},
	"tail":      {" # c", " <<'E'\n$(touch P)\nE", " <<\"E\" 2>&1\n`touch P`\nE"},
	"list":      {"<part>", "<part><separator><part>", "<part><separator><part><separator><part>"},
	"separator": {"; ", " && ", " || ", " | ", "; ", "\n", " & "},
	"part":      {"<command>", "<command>", "<command>", "<command><redirect><more>"},
	"redirect":  {" > <name>", " >> <name>", " 2> <name>", " < f > <name>"},
	"more":      {"", " 2>&1", " > /dev/null", " >&2", " 1>&2", " 2>>g", " 0< f", " >'a b'"},
	"command": {
		"if <list>; then <list>; else <list>; fi", "if <list>\nthen <list>\nelif <list>; then <list>; fi",
		"for v in <word> <word>; do <list>; done", "while false; do <list>; done < names",
		"until <ends>; do\n<list>\ndone", "(<list>)", "{ <list>; }", "! <simple>", "(cd <directory> && <list>)",
		"<simple>", "<simple>", "<simple>", "<simple>", "<simple>", "<simple>", "<simple>",
	},
	"ends":      {"true", "test -e .", "! false"},
	"directory": {"sub", ".", "./sub/dir", "nothing"},
	"simple": {
		"<calm>", "<copy> <word> <word>", "<change> <name>", "sed <sed> <name>", "<starter> <plain>", `find sub -maxdepth 0 -exec <plain> \;`,
		"<shell> -c '<quoted>'", "<program> <word>", "<program> <word>", "<program> <name>", "<program> <name>",
	},
	"calm":    {"true", "false", ":", "pwd", "exit", "ls", "wait", "exit 3", "echo <word> <word>"},
	"copy":    {"cp", "mv", "ln", "ln -s", "cp -r"},
	"change":  {"rm -rf", "mkdir -p", "rmdir", "uniq f", "echo x | tee -a", "sort -uo <name>"},
	"sed":     {"-n p", "-i s/x/y/", "'/x/,+1s/y/z/g;p'", "-i '$d'", "--quiet -e p", "'1w b'"},
	"starter": {"env", "nohup", "nice -n 1", "timeout 5", "time", "echo <name> | xargs -n1"},
	"plain":   {"touch <name>", "echo <name>", "rm -f <name>", "cat <name>", "mkdir <name>", "cp f <name>"},
	"shell":   {"sh", "bash", "dash"},
	"quoted":  {"<list>"}, // without single quotes
	"program": {
		"touch", "mkdir -p", "cat", "cp f", "ln -sf f", "rm -rf", "time touch", "timeout 5 touch", "env touch", "nice touch", "echo x | tee",
		"sort -o", "sort f -o", "test -e", "[ -e f ] && touch", "printf %s", "ls", "find . -maxdepth 1 -name", "wait #", "touch \\\n ", "kill -0 $$", ":", "head -1",
	},
	"word": {"<name>", "<name>", "<odd>"},
	"name": {"a", "b", "c", "f", "g", "d/a", "d/b", "./a", "../a", "d", "sub", "sub/dir"},
	"odd": {
		"'<name>'", `"<name>"`, "{a,b}", "a{b,c}", "*", "./*", "sub/*", "~", `a\ b`, "a''b", `"a b"`, "$?", `"x$?"`, `\$v`, "'$v'", `"\$v"`,
		"$v", `"$v"`, "${v}", "a#b", "[", "{}", "a..b", "é", `"a$"`, "-x", "./-x",
	},
}

var part = regexp.MustCompile("<[a-z]+>")

// expand replaces the parts of a form. Commands are within each other at most so deep.
func expand(r *rand.Rand, form string, deep int) string {
	return part.ReplaceAllStringFunc(form, func(name string) string {
		name, deep := strings.Trim(name, "<>"), deep
		if name == "command" {
			if deep--; deep < 0 {
				name, deep = "simple", 0
			}
		}
		forms := grammar[name]
		text := expand(r, forms[r.IntN(len(forms))], deep)
		if name == "quoted" {
			text = strings.ReplaceAll(text, "'", `"`)
		}
		return text
	})
}

func script(seed uint64) string { return expand(rand.New(rand.NewPCG(seed, 1)), "<script>", 2) }

// traced returns a command that the shell's -x has printed and the facts do not have.
func traced(facts shellfacts.Facts, trace string) string {
	for line := range strings.Lines(trace) {
		command := strings.TrimLeft(strings.TrimSpace(line), "+")
		if command == strings.TrimSpace(line) || !strings.HasPrefix(command, " ") {
			continue
		}
		words := strings.Fields(command)
		if len(words) == 0 || strings.ContainsAny(command, "='\"$`\\(){}[]<>*~") || slices.Contains([]string{"for", "case", "select", "let"}, words[0]) {
			continue // quoted in some way, or no simple command
		}
		if !slices.ContainsFunc(facts.Programs, func(p shellfacts.Program) bool {
			return p.Name == words[0] && (!p.Literal || slices.Equal(p.Args, words[1:]) || slices.Contains(p.Args, ""))
		}) {
			return fmt.Sprintf("-x has %q", words)
		}
	}
	return ""
}

// randomScripts compares scripts of some seeds with what shells do.
func randomScripts(t *testing.T, from, n int) {
	t.Helper()
	complete := attack(t, func(i int) (string, bool) { return script(uint64(from + i)), i < n })
	t.Logf("%d of %d readings are complete", complete, 2*n)
	require.Greater(t, complete, n/2, "of two shells, or the comparison means little")
}

func TestRandomScripts(t *testing.T) {
	t.Parallel()
	randomScripts(t, 0, 40)
}

func TestHeldRandomScripts(t *testing.T) {
	held(t)
	randomScripts(t, 1000, rounds(150, 10_000))
}
