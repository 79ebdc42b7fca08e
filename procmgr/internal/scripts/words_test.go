package scripts_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/scripts"
)

// shellWords returns the words that shells pass on, for a command in which
// every simple command calls show.
func shellWords(t *testing.T, shell, command string) [][]string {
	t.Helper()
	cmd := exec.Command(shell, "-c", `show() { printf '%s\036' "$@"; printf '\035'; }
`+command)
	cmd.Env, cmd.Dir = []string{"PATH=/nonexistent", "A=1"}, t.TempDir()
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	var words [][]string
	for _, call := range strings.Split(strings.TrimSuffix(string(out), "\035"), "\035") {
		words = append(words, append([]string{"show"}, strings.Split(strings.TrimSuffix(call, "\036"), "\036")...))
	}
	return words
}

func shells(t *testing.T) (found []string) {
	for _, shell := range []string{"bash", "dash"} {
		if path, err := exec.LookPath(shell); err == nil {
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		t.Skip("needs bash or dash")
	}
	return found
}

func TestWordsAgainstShells(t *testing.T) {
	shells := shells(t)
	for _, command := range []string{
		"show a b",
		"show  a\tb ",
		"show a; show b",
		"show a && show b\nshow c",
		"show 'a b' \"c d\"e'f'",
		`show "a \" \\ \x" 'a \ b' a\ b \'`,
		"show a\\\nb",
		"show \"a\\\nb\"",
		"show '' \"\" a",
		"show a # not this\nshow b",
		"show a#b",
		"show a 2>&1; show b 2>&1 c",
		"show a 2>/dev/null b",
		"show a </dev/null b",
		"show a 2>>/dev/null 2>|/dev/null",
		"show a=b --c=d a~b ]",
		"show é 'ü'",
	} {
		words, known := scripts.Words(command)
		require.True(t, known, "%q", command)
		for _, shell := range shells {
			require.Equal(t, shellWords(t, shell, command), words, "%s: %q", shell, command)
		}
	}
	for command, want := range map[string][][]string{ // a shell shows fewer words of these
		"x a || y b; z":          {{"x", "a"}, {"y", "b"}, {"z"}},
		"x >f; y >>f a >|f":      {{"x"}, {"y", "a"}},
		"x a2>f; y 2>f a 2>&1":   {{"x", "a2"}, {"y", "a"}},
		"x &>f a; y >&f":         {{"x", "a"}, {"y"}},
		"x a | y b |& z & w":     {{"x", "a"}, {"y", "b"}, {"z"}, {"w"}},
		"x > 'a b' c; y <f >f d": {{"x", "c"}, {"y", "d"}},
	} {
		words, known := scripts.Words(command)
		require.True(t, known, "%q", command)
		require.Equal(t, want, words, "%q", command)
	}
}

// A word that a shell changes is not known.
func TestWordsUnknown(t *testing.T) {
	for _, command := range []string{
		"x $A", "x ${A}", `x "$A"`, "x *.sh", "x a?", "x [ab]", "x {a,b}", "x ~", "x ~/a", "x ~a",
	} {
		words, known := scripts.Words(command)
		require.False(t, known, "%q", command)
		require.Len(t, words, 1)
	}
	for _, command := range []string{
		"x $(y)", "x `y`", `x "$(y)"`, "x \"`y`\"", "(x)", "x <<E\ny\nE", "x <<<y", "x <(y)", "x 'y", `x "y`, `x \`, "f() { x; }",
		"x " + strings.Repeat("y", 5000),
	} {
		words, _ := scripts.Words(command)
		require.Nil(t, words, "%.80q", command)
	}
}

func FuzzWords(f *testing.F) {
	f.Add(`a 'b c' "d \" e" f\ g`)
	f.Add(`\\ "\\" '\\' "\a" "" ''`)
	f.Fuzz(func(t *testing.T, args string) {
		if strings.Trim(args, "abcxyzABCXYZ0189 _./='\"\\-") != "" || strings.HasSuffix(args, "\\") || len(args) > 200 {
			return // only show may run
		}
		words, known := scripts.Words("show " + args)
		for _, shell := range shells(t) {
			if words == nil {
				require.Nil(t, shellWords(t, shell, "show "+args), "%s: %q", shell, args)
				continue
			}
			require.True(t, known)
			if len(words[0]) == 1 {
				words[0] = append(words[0], "") // show prints one, even if it has none
			}
			require.Equal(t, shellWords(t, shell, "show "+args), words, "%s: %q", shell, args)
		}
	})
}
