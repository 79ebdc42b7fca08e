package shellfacts_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/toolproc/toolproc/contrib/shellfacts"
)

// A generator writes random scripts of the allowed syntax, and of what is next to it. They
// end, and write only below their directory. TestRefused and TestHeldHostileTexts have the
// syntax that is not allowed.
type generator struct{ *rand.Rand }

func (g *generator) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g *generator) name() string {
	return g.pick("a", "b", "c", "f", "g", "d/a", "d/b", "./a", "../a", "d", "sub", "sub/dir")
}

func (g *generator) word() string {
	if g.IntN(3) > 0 {
		return g.name()
	}
	return g.pick("'"+g.name()+"'", `"`+g.name()+`"`, "{a,b}", "a{b,c}", "*", "./*", "sub/*", "~", `a\ b`, "a''b", `"a b"`, "$?", `"x$?"`, `\$v`, "'$v'", `"\$v"`, "$v", `"$v"`, "${v}", "a#b", "[", "{}", "a..b", "é", `"a$"`, "-x", "./-x")
}

// plain returns a command that others can start.
func (g *generator) plain() string {
	return g.pick("touch ", "echo ", "rm -f ", "cat ", "mkdir ", "cp f ") + g.name()
}

func (g *generator) simple(depth int) string {
	switch g.IntN(8) {
	case 0:
		return g.pick("true", "false", ":", "pwd", "exit", "ls", "wait", "exit 3", "echo "+g.word()+" "+g.word())
	case 1:
		return g.pick("cp", "mv", "ln", "ln -s", "cp -r") + " " + g.word() + " " + g.word()
	case 2:
		return g.pick("rm -rf ", "mkdir -p ", "rmdir ", "uniq f ", "echo x | tee -a ", "sort -uo "+g.name()+" ") + g.name()
	case 3:
		return "sed " + g.pick("-n p", "-i s/x/y/", "'/x/,+1s/y/z/g;p'", "-i '$d'", "--quiet -e p", "'1w b'") + " " + g.name()
	case 4:
		return g.pick("env ", "nohup ", "nice -n 1 ", "timeout 5 ", "time ", "find sub -maxdepth 0 -exec ", "echo "+g.name()+" | xargs -n1 ") + g.plain() + g.pick("", ` \;`)
	case 5:
		if depth > 0 {
			return g.pick("sh -c ", "bash -c ", "dash -c ") + "'" + strings.ReplaceAll(g.list(depth-1), "'", `"`) + "'"
		}
	}
	return g.pick("touch ", "mkdir -p ", "cat ", "cp f ", "ln -sf f ", "rm -rf ", "time touch ", "timeout 5 touch ", "env touch ", "nice touch ", "echo x | tee ", "sort -o ", "sort f -o", "test -e ", "[ -e f ] && touch ", "printf %s ", "ls ", "find . -maxdepth 1 -name ",
		"wait # ", "touch \\\n  ", "kill -0 $$ ", ": ", "head -1 ") + g.word()
}

func (g *generator) redirect() string {
	if g.IntN(4) > 0 {
		return ""
	}
	return g.pick(" > ", " >> ", " 2> ", " < f > ") + g.name() +
		g.pick("", " 2>&1", " > /dev/null", " >&2", " 1>&2", " 2>>g", " 0< f", " >'a b'")
}

func (g *generator) command(depth int) string {
	if depth <= 0 {
		return g.simple(depth)
	}
	inner := func() string { return g.list(depth - 1) }
	switch g.IntN(16) {
	case 0:
		return "if " + inner() + "; then " + inner() + "; else " + inner() + "; fi"
	case 1:
		return "for v in " + g.word() + " " + g.word() + "; do " + inner() + "; done"
	case 2:
		return "while false; do " + inner() + "; done < names"
	case 3:
		return "(" + inner() + ")"
	case 4:
		return "{ " + inner() + "; }"
	case 5:
		return "! " + g.simple(depth)
	case 6:
		return "if " + inner() + "\nthen " + inner() + "\nelif " + inner() + "; then " + inner() + "; fi"
	case 7:
		return "until " + g.pick("true", "test -e .", "! false") + "; do\n" + inner() + "\ndone"
	case 8:
		return "(cd " + g.pick("sub", ".", "./sub/dir", "nothing") + " && " + inner() + ")"
	}
	return g.simple(depth)
}

func (g *generator) list(depth int) string {
	var b strings.Builder
	separator := ""
	for range 1 + g.IntN(3) {
		b.WriteString(separator + g.command(depth) + g.redirect())
		separator = g.pick("; ", " && ", " || ", " | ", "; ", "\n", " & ")
		if depth == deepest && g.IntN(4) == 0 {
			b.WriteString(g.pick(" # c", " <<'E'\n$(touch P)\nE", " <<\"E\" 2>&1\n`touch P`\nE"))
			separator = "\n" // what ends with its line has none other
		}
	}
	return b.String()
}

// deepest is how many commands are within each other.
const deepest = 2

func script(seed uint64) string {
	g := &generator{rand.New(rand.NewPCG(seed, 1))}
	return g.pick("", "", "", "cd sub && ", "cd nothing && ", "cd .. && ") + g.list(deepest)
}

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
