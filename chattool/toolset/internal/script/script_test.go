package script_test

import (
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
)

// nested is what makes a shell parser descend, each in a way of its own, and what may
// make it slow. The first is repeated, then the second as often.
var nested = map[string][2]string{
	"subshell":        {"(", ")"},
	"group":           {"{ ", "; }"},
	"if":              {"if ", "; then :; fi"},
	"case":            {"case x in a) ", ";; esac"},
	"function":        {"f() { ", "; }"},
	"command":         {"$(", ")"},
	"quoted command":  {`"$(`, `)"`},
	"backquotes":      {"`", ""},
	"arithmetic":      {"$((", "))"},
	"index":           {"a[", "]=1"},
	"parameter":       {"${a:-", "}"},
	"extended glob":   {"@(", ")"},
	"process":         {"<(", ")"},
	"array":           {"a=(", ")"},
	"here-document":   {"cat <<a\n$(", ")\na\n"},
	"pipe":            {"a|", ""},
	"and":             {"a&&", ""},
	"background":      {"a&", ""},
	"here-documents":  {"cat <<a\nx\na\n", ""},
	"quotes":          {"''", ""},
	"continued lines": {"\\\n", ""},
}

// contexts have an opening and what else may be repeated within it.
var contexts = map[string][2]string{
	"test parentheses":       {"[[ ", "( "},
	"test not":               {"[[ ", "! "},
	"arithmetic parentheses": {"$((", "("},
	"arithmetic conditions":  {"$((", "1?"},
	"arithmetic sums":        {"$((", "1+"},
	"escaped backquotes":     {"`", `\`},
	"case items":             {"case x in ", "a) b;; "},
}

// A stack that overflows ends the program. This one has room for far less than
// what 64 KiB of "(" take without a bound, which is 256 MiB.
func TestParserIsBounded(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(16 << 20))
	scripts := map[string]string{}
	for name, n := range nested {
		times := script.MaxScript / len(n[0])
		scripts[name] = strings.Repeat(n[0], times)
		times = script.MaxScript / (len(n[0]) + len(n[1]) + 1)
		scripts[name+", closed"] = strings.Repeat(n[0], times) + ":" + strings.Repeat(n[1], times)
		times = (script.MaxScript - len("a &")) / (len(n[0]) + len(n[1]) + len(":\n"))
		scripts[name+", side by side"] = strings.Repeat(n[0]+":"+n[1]+"\n", times) + "a &"
	}
	for name, c := range contexts {
		scripts[name] = c[0] + strings.Repeat(c[1], (script.MaxScript-len(c[0]))/len(c[1]))
	}
	for name, command := range scripts {
		require.LessOrEqual(t, len(command), script.MaxScript, name)
		parse := func() time.Duration {
			done := make(chan time.Duration)
			// The stack of a goroutine of its own starts empty.
			go func() {
				began := time.Now()
				script.Parse(command, "").WithoutAmpersand(false)
				done <- time.Since(began)
			}()
			return <-done
		}
		// Some 10 ms here; seconds where it were quadratic, at every try.
		best := parse()
		for range 4 {
			if best < time.Second {
				break
			}
			best = min(best, parse())
		}
		require.Less(t, best, time.Second, name)
	}
}

// What people write is nested a little, and is parsed whatever its size.
func TestParserTakesOrdinaryNesting(t *testing.T) {
	t.Parallel()
	for name, n := range map[string][2]string{
		"subshell": {"( ", " )"},
		"if":       {"if true; then ", "; fi"},
		"command":  {"echo $(", ")"},
		"case":     {"case x in x) ", ";; esac"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, depth := range []int{1, 10, 50} {
				one := strings.Repeat(n[0], depth) + ":" + strings.Repeat(n[1], depth) + "\n"
				require.NotNil(t, script.Parse(one, ""), depth)
				require.NotNil(t, script.Parse(strings.Repeat(one, script.MaxScript/len(one)), ""), depth)
			}
		})
	}
}

// What the parser calls a word's end is its end, also at the end of the script
// and of what it gets at a time.
func TestPositions(t *testing.T) {
	t.Parallel()
	for _, length := range []int{1, 2, 100, 254, 255, 256, 257, 511, 512, 513, 2000} {
		command := strings.Repeat("x", length)
		for _, after := range []string{"", "\n", "; ls"} {
			tree := script.Parse(command+after, "")
			require.Equal(t, command, tree.Between(tree.Stmts[0].Cmd.Pos(), tree.Stmts[0].Cmd.End()), "%d, %q", length, after)
		}
	}
}

// A command is read as its shell reads it, and not at all if that is another
// language.
func TestParseByShell(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, command string
		reads         string // the shells that take it
	}{
		{"anything", "cd / && ls | wc -l", "bash sh dash ash ksh mksh zsh unknown"},
		{"array", "a=(1 2)", "bash ksh mksh zsh unknown"},
		{"both streams", "make &>log", "bash ksh mksh zsh unknown"},
		{"case operators", "echo ${x^^}", "bash unknown"},
		{"not valid", "echo 'a", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var reads []string
			for _, shell := range strings.Fields("bash sh dash ash ksh mksh zsh fish csh tcsh cmd powershell pwsh unknown") {
				if script.Parse(tt.command, shell) != nil {
					reads = append(reads, shell)
				}
			}
			require.Equal(t, tt.reads, strings.Join(reads, " "))
			require.Equal(t, script.Parse(tt.command, "bash") != nil, script.Parse(tt.command, "") != nil)
		})
	}
}
