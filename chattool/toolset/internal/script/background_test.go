package script_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"github.com/toolproc/toolproc/internal/testenv"
)

// A promotion is a script and what becomes of it. The scripts are harmless, so
// that the shells can be asked about them.
type promotion struct {
	name, script string
	want         string // what is run in the background; "" if nothing is taken off
	bash         bool   // dash reads it otherwise
}

var promotions = []promotion{
	{name: "one command", script: "echo a &", want: "echo a "},
	{name: "newlines after", script: "echo a &\n\n \t\n", want: "echo a \n\n \t\n"},
	{name: "comment after", script: "echo a & # b & c", want: "echo a  # b & c"},
	{name: "comment right after", script: "echo a&#b", want: "echo a #b"},
	{name: "continued line and a comment", script: "echo a&\\\n#b", want: "echo a \\\n#b"},
	{name: "chain", script: "true && echo a &", want: "true && echo a "},
	{name: "pipeline", script: "echo a | cat &", want: "echo a | cat "},
	{name: "redirected", script: "echo a > /dev/null 2>&1 &", want: "echo a > /dev/null 2>&1 "},
	{name: "subshell", script: "( echo a; echo b ) &", want: "( echo a; echo b ) "},
	{name: "escaped & before", script: `echo \&&`, want: `echo \&`},
	{name: "backslash before", script: `echo \\&`, want: `echo \\`},
	{name: "here-document", script: "cat <<EOF &\na & b\nEOF\n", want: "cat <<EOF \na & b\nEOF\n"},
	{name: "cd before", script: "cd /; echo a &", want: "cd /; echo a "},
	{name: "assignment before", script: "A=1; echo $A &", want: "A=1; echo $A "},
	{name: "default value before", script: "export A=${A:-3000}; echo $A &", want: "export A=${A:-3000}; echo $A "},
	{name: "assignment for the command", script: "A=1 echo a &", want: "A=1 echo a "},
	{name: "test", script: "[[ a == a && b == b ]] &", want: "[[ a == a && b == b ]] ", bash: true},

	{name: "none", script: "echo a"},
	{name: "install first", script: "echo install; echo a &"},
	{name: "wait", script: "echo a & wait"},
	{name: "cd or", script: "cd /nowhere || exit 1; echo a &"},
	{name: "cd in a subshell", script: "(cd /); echo a &"},
	{name: "substitution before", script: "A=$(echo install); echo a &"},
	{name: "substitution in quotes before", script: `export A="x$(echo install)"; echo a &`},
	{name: "arithmetic before", script: "A=$((1+1)); echo a &"},
	{name: "set before", script: "set -e; echo a &"},
	{name: "quoted", script: "echo 'a &'"},
	{name: "escaped", script: `echo a \&`},
	{name: "commented", script: "echo a # b &"},
	{name: "here-document body at the end", script: "cat <<EOF\na &\nEOF\n"},
	{name: "closed descriptor", script: "echo a 2>&-"},
	{name: "within a subshell", script: "(echo a &)"},
	{name: "within a substitution", script: "echo $(echo a &)"},
	{name: "arithmetic and", script: "echo $((3 & 1))"},
	{name: "both streams piped", script: "echo a |& cat", bash: true},
	{name: "coprocess", script: "coproc cat &", bash: true},
	{name: "disown", script: "echo a & disown", bash: true},
	{name: "process substitution before", script: "A=<(echo install); echo a &", bash: true},
	{name: "array before", script: "A=(1 2); echo a &", bash: true},
	{name: "index before", script: "A=${B[C]}; echo a &", bash: true}, // C may be x[$(install)]
	{name: "slice before", script: "A=${B:C}; echo a &", bash: true},
	{name: "element before", script: "A[C]=1; echo a &", bash: true},
	{name: "not valid", script: "echo 'a &"},
	{name: "nothing in the background", script: "&"},
}

// without is how execute asks.
func without(command string) (string, bool) {
	return script.Parse(command, "").WithoutAmpersand(false)
}

func TestWithoutAmpersand(t *testing.T) {
	t.Parallel()
	for _, tt := range promotions {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, ok := without(tt.script)
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.want != "", ok)
		})
	}
	t.Run("over 64 KiB", func(t *testing.T) {
		t.Parallel()
		command := "echo " + strings.Repeat("a", script.MaxScript-len("echo &")) + "&"
		_, ok := without(command)
		require.True(t, ok)
		_, ok = without("x" + command)
		require.False(t, ok)
	})
}

// Real shells have the last word: $! is set where the script has put something
// in the background, and without its & the command prints the same, with nothing in the
// background.
func TestHeldWithoutAmpersandAgainstShells(t *testing.T) {
	testenv.Held(t)
	t.Parallel()
	for _, shell := range []string{"dash", "bash"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			testenv.Programs(t, shell)
			run := func(command string) (output, background string) {
				cmd := exec.Command(shell, "-c", command+"\n"+`printf 'pid:%s' "$!" >&2`)
				cmd.Dir = t.TempDir()
				var stderr strings.Builder
				cmd.Stderr = &stderr
				out, _ := cmd.Output()
				_, background, _ = strings.Cut(stderr.String(), "pid:")
				return string(out), background
			}
			for _, tt := range promotions {
				if tt.bash && shell != "bash" || tt.want == "" {
					continue
				}
				without, ok := script.Parse(tt.script, shell).WithoutAmpersand(false)
				require.True(t, ok, tt.name)
				require.Equal(t, tt.want, without, tt.name)
				before, background := run(tt.script)
				require.NotEmpty(t, background, "%s: the shell has nothing in the background", tt.name)
				require.NoError(t, exec.Command(shell, "-n", "-c", tt.want).Run(), tt.name)
				after, background := run(tt.want)
				require.Empty(t, background, tt.name)
				require.Equal(t, before, after, tt.name)
			}
		})
	}
}
