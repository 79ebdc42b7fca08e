package shellfacts_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/toolproc/toolproc/contrib/shellfacts"
)

// A generator writes random scripts of the shell's grammar. They end, and write only
// below their directory.
type generator struct {
	*rand.Rand
	bash bool
	body bool // within a function, which calls none
	calm bool // no function, assignment or substitution, which are not read
}

func (g *generator) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g *generator) name() string {
	return g.pick("a", "b", "c", "f", "g", "d/a", "d/b", "./a", "../a", "d", "sub", "sub/dir")
}

func (g *generator) word(depth int) string {
	if g.calm && g.IntN(3) > 0 {
		return g.pick("'"+g.name()+"'", `"`+g.name()+`"`, "{a,b}", "a{b,c}", "*", "./*", "sub/*", "~", `a\ b`, "a''b", `"a b"`, "$?", `"x$?"`, `\$v`, "'$v'", `"\$v"`, "$v", `"$v"`, "${v}", "a#b", "[", "{}", "a..b", "é", `"a$"`, "-x", "./-x")
	}
	switch g.IntN(14) {
	case 0:
		return "'" + g.name() + "'"
	case 1:
		return `"` + g.name() + `"`
	case 2:
		return g.pick("$v", `"$v"`, `"${v}"`, "$w", `"$w"`)
	case 3:
		return "${v:-" + g.word(depth-1) + "}"
	case 4:
		if depth > 0 {
			return strings.Replace(g.pick("$(%s)", `"$(%s)"`, "x$(%s)"), "%s", g.list(depth-1), 1)
		}
	case 5:
		return g.pick("{a,b}", "a{b,c}", "*", "sub/*", "~", "$((1+2))", `a\ b`, "a''b", `"a b"`, "$#", `\$v`)
	case 6:
		if depth > 0 && g.bash {
			return g.pick("<", ">") + "(" + g.list(depth-1) + ")"
		}
	}
	return g.name()
}

func (g *generator) simple(depth int) string {
	w := func() string { return g.word(depth) }
	if g.calm && g.IntN(2) == 0 {
		return g.pick("touch ", "mkdir -p ", "cat ", "cp f ", "ln -sf f ", "rm -rf ", "time touch ", "timeout 5 touch ", "env touch ", "nice touch ", "echo x | tee ", "sort -o ", "sort f -o", "test -e ", "printf %s ", "ls ", "find . -maxdepth 1 -name ",
			"wait # ", "touch \\\n  ", "exit ", "sh -c 'touch \"$0\"' ", "kill -0 $$ ", ": ", "head -1 ") + w()
	}
	switch g.IntN(36) {
	case 0, 1, 2, 3:
		return "touch " + w()
	case 4, 5:
		return "echo " + w() + " " + w()
	case 6:
		return "cat " + w()
	case 7:
		return g.pick("true", "false", ":", "pwd", "exit", "f", "g", "ls", "wait")
	case 8, 9:
		return g.pick("cd ", "cd -P ", "builtin cd ", "command cd ") + g.pick("sub", "..", "d", ".", "sub/dir", "$v", "nothing")
	case 10:
		return g.pick("cp", "mv", "ln", "ln -s", "cp -r") + " " + w() + " " + w()
	case 11:
		return g.pick("rm -f ", "rm -rf ", "mkdir ", "mkdir -p ", "rmdir ") + g.name()
	case 12:
		return g.pick("sort -o ", "sort -uo ", "shuf -o ") + w() + " " + g.name()
	case 13:
		return "uniq " + g.name() + " " + w()
	case 14:
		return "sed " + g.pick("-n p", "-i s/x/y/", "-n 's/x/y/w a'", "'1w b'", "--quiet -e p", "-ni.c p") + " " + g.name()
	case 15:
		return "echo x | tee " + g.pick("", "-a ") + w()
	case 16, 17:
		return g.pick("env ", "env X=1 ", "nohup ", "nice -n 1 ", "timeout 5 ", "exec ", "command ", "setsid -w ", "time ") + g.plainSimple()
	case 18, 19:
		if depth > 0 && !g.body {
			return g.pick("sh -c ", "bash -c ", "eval ", "dash -c ") + "'" + strings.ReplaceAll(g.list(depth-1), "'", `'\''`) + "'"
		}
	case 20:
		return "find " + g.pick(".", "sub") + " -maxdepth 0 -exec " + g.plainSimple() + ` \;`
	case 21:
		return "echo " + g.name() + " | xargs " + g.pick("", "-n1 ", "-I{} ") + g.plainSimple()
	case 22:
		return g.pick("v=", "w=", "export v=", "v+=", "X=1 v=") + w()
	case 23:
		return g.pick("read v", "unset v", "set -- a b", "printf %s x", "trap 'touch a' EXIT", "set -e", "set -u")
	case 24:
		return g.pick("test ", "[ ") + "-e " + g.name()
	case 25:
		if g.bash {
			return g.pick("[[ -e a ]]", "((1))", "pushd sub", "popd", "let x=1", "printf -v v a", "declare v=a", "x=(a b)", "mapfile -t x", "[[ a > b ]]", "echo ${x[0]}")
		}
	case 26:
		return "X=1 " + g.plainSimple()
	case 27:
		return "dd status=none of=" + w() + " < f"
	}
	return "touch " + g.name()
}

func (g *generator) plainSimple() string {
	return g.pick("touch ", "echo ", "rm -f ", "cat ", "mkdir ", "cp f ") + g.name()
}

func (g *generator) redirect(depth int) string {
	switch g.IntN(9) {
	case 0:
		return g.pick(" > ", " >> ", " >| ", " 2> ", " <> ", " 3>") + g.word(depth)
	case 1:
		return g.pick(" < f", " 2>&1", " > /dev/null", " <&-", " 2>/dev/null")
	case 3:
		return g.pick(" >&2", " 1>&2", " 2>>g", " 0< f", " >'a b'", " <<'E'\n$(touch P)\nE", " <<-\"E\" 2>&1\n\t`touch P`\n\tE", " # c")
	case 2:
		if g.bash {
			return g.pick(" &> ", " >& ", " &>> ", " {fd}> ", " <<< ") + g.word(depth)
		}
	}
	return ""
}

func (g *generator) command(depth int) string {
	if depth <= 0 {
		return g.simple(depth)
	}
	inner := func() string { return g.list(depth - 1) }
	switch g.IntN(24) {
	case 0:
		return "if " + inner() + "; then " + inner() + "; else " + inner() + "; fi"
	case 1:
		return "for v in " + g.word(depth-1) + " " + g.word(depth-1) + "; do " + inner() + "; done"
	case 2:
		return "while " + g.pick("false", "read v") + "; do " + inner() + "; done < names"
	case 3:
		return "case " + g.word(depth-1) + " in a) " + inner() + ";; *) " + inner() + ";; esac"
	case 4:
		return "(" + inner() + ")"
	case 5:
		return "{ " + inner() + "; }"
	case 6:
		if !g.body && !g.calm {
			h := &generator{Rand: g.Rand, bash: g.bash, body: true}
			return g.pick("f", "g", "ls", "touch", "cat") + "() { " + strings.ReplaceAll(strings.ReplaceAll(h.plainSimple(), "touch", "mkdir"), "cat", "echo") + "; }"
		}
	case 7:
		return "! " + g.simple(depth)
	case 8:
		return "if " + inner() + "\nthen " + inner() + "\nelif " + inner() + "; then " + inner() + "; fi"
	case 9:
		return "until " + g.pick("true", "test -e f", "! false") + "; do\n" + inner() + "\ndone"
	case 10:
		return "(cd " + g.pick("sub", ".", "./sub/dir", "nothing") + " && " + inner() + ")"
	}
	return g.simple(depth)
}

func (g *generator) list(depth int) string {
	var b strings.Builder
	for i := range 1 + g.IntN(3) {
		if i > 0 {
			b.WriteString(g.pick("; ", " && ", " || ", " | ", "; ", "\n", " & "))
		}
		b.WriteString(g.command(depth))
		b.WriteString(g.redirect(depth))
	}
	return b.String()
}

func script(seed uint64, bash bool) string {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1)), bash: bash}
	g.calm = seed%4 > 1
	text := g.list(2)
	if g.IntN(3) == 0 {
		text = g.pick("cd sub && ", "cd sub || exit 1; ", "cd nothing && ", "cd .. || exit\n", "cd sub/dir && true; ") + text
	}
	if g.IntN(8) == 0 {
		text += "\ncat <<EOF" + g.redirect(1) + "\n$(" + g.plainSimple() + ") `" + g.plainSimple() + "`\nEOF\n" + g.command(1)
	}
	return text
}

// compare runs random scripts, and compares. It returns how many facts were complete.
func compare(t *testing.T, from, to uint64) int {
	t.Helper()
	programs(t, "bash", "dash")
	oracles := []*oracle{newOracle(t, "bash"), newOracle(t, "dash")}
	var complete atomic.Int64
	var workers sync.WaitGroup
	next := from
	var mu sync.Mutex // guards next
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for !t.Failed() {
				mu.Lock()
				seed := next
				next++
				mu.Unlock()
				if seed >= to {
					return
				}
				o := *oracles[seed%2]
				text := script(seed, seed%2 == 0)
				facts := shellfacts.Parse(text, o.shell)
				if !facts.Complete {
					continue
				}
				complete.Add(1)
				deeds := o.deeds(t, text, workspace(t))
				why := o.unknown(facts, deeds)
				if why == "" && o.shell == "bash" { // the lines of dash mix
					why = traced(facts, o.trace)
				}
				if why != "" {
					t.Errorf("seed %d, %s: %q: %s\n%+v", seed, o.shell, text, why, facts)
				}
			}
		})
	}
	workers.Wait()
	return int(complete.Load())
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
			return p.Name == words[0] && (!p.Literal || slices.Equal(p.Args, words[1:]) || slices.Contains(p.Args, "")) ||
				slices.Contains([]string{"f", "g", "ls", "touch", "cat"}, words[0]) // a function
		}) {
			return fmt.Sprintf("-x has %q", words)
		}
	}
	return ""
}

// enough is one of how many random scripts has to be complete, so that comparing them
// with what shells do means something.
const enough = 16

func TestRandomScripts(t *testing.T) {
	t.Parallel()
	const n = 60
	require.Greater(t, compare(t, 0, n), n/enough)
}

func TestHeldRandomScripts(t *testing.T) {
	held(t)
	n := rounds(200, 10_000)
	require.Greater(t, compare(t, 1000, uint64(1000+n)), n/enough)
}
