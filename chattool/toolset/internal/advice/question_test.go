package advice_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/toolproc/toolproc/chattool/toolset/internal/advice"
)

const question = "The last line looks like a question, which can't be answered because stdin is empty. Use a flag such as -y, or pipe the answer in."

// Last lines of programs that ask, and of others. They all get no input and end at
// once. The exit code of a program that asks says nothing.
func TestUsualLastLines(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{"prompts.tsv": question, "ordinary.tsv": ""} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("testdata", file))
			require.NoError(t, err)
			for line := range strings.Lines(string(text)) {
				name, quoted, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
				output, err := strconv.Unquote(quoted)
				require.NoError(t, err, line)
				for _, code := range []int{0, 1} {
					require.Equal(t, want, noteOn("x", code, output), "%s, exit code %d", name, code)
				}
				for _, command := range []string{"cat f", "printf '%s' \"$PROMPT\"", "grep -h name f | head -1", "x '"} {
					require.NotContains(t, noteOn(command, 0, output), "question", "%s: it only prints, or nobody knows", name)
				}
				require.Empty(t, noteOn("yes | x", 0, output), "%s, answered", name)
			}
		})
	}
}

// A label at the end of a long run is the last that it has to say.
func TestLabelAfterALongRun(t *testing.T) {
	t.Parallel()
	r := exited("x", 0, "Geographic area: ")
	require.Equal(t, question, noteOf(r))
	r.Output.Process.Elapsed = time.Hour
	require.Empty(t, noteOf(r))
	r = running("x", "Overwrite main.go? ")
	r.Reading = true
	require.Equal(t, question, noteOf(r))
	r.Output.Process.Elapsed = 0
	require.Empty(t, noteOf(r), "it has only just begun")
}

func TestPromptWithoutAnswer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, command, output string
		want                  bool
	}{
		{"apt", "apt-get install x", "Do you want to continue? [Y/n] Abort.\n", true},
		{"python", "python3 x.py", "Name: Traceback (most recent call last):\n  File \"x.py\", line 1\nEOFError: EOF when reading a line\n", true},
		{"stderr", "x 2>&1 >/dev/null", "Continue? ", true},
		{"piped", "yes | x", "Continue? ", false},
		{"from a file", "x < answers", "Continue? ", false},
		{"from nothing", "x < /dev/null", "Continue? ", true},
		{"here-document", "x <<EOF\ny\nEOF", "Continue? ", false},
		{"in a subshell", "(cd sub; x < answers)", "Continue? ", false},
		{"another abort", "x", "Abort.\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, noteOn(tt.command, 1, tt.output) == question)
		})
	}
}

// A question that a command only prints is not one that it asks, whatever it
// does beside printing.
func TestPrintedQuestion(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		command string
		code    int
		want    string
	}{
		{"printf 'Overwrite? [y/N] '; exit 0", 0, ""},
		{"cd /tmp && printf 'Overwrite? [y/N] '; exit", 0, ""},
		{"ask() { printf 'Overwrite? [y/N] '; return 0; }; printf 'Overwrite? [y/N] '", 0, ""},
		{"umask 022; set -e; trap : EXIT; unset X; X=1; printf 'Overwrite? [y/N] '; wait", 0, ""},
		{"while :; do printf 'Overwrite? [y/N] '; break; done", 0, ""},
		{"export X=1; printf 'Overwrite? [y/N] '; exit 0", 0, ""},
		{"printf 'Overwrite? [y/N] '; exit 1", 1, question},
		{"./install; exit 0", 0, question},
		{"ask() { printf 'Overwrite? [y/N] '; read -r x; }; ask; exit 0", 0, question},
	} {
		t.Run(tt.command, func(t *testing.T) {
			require.Equal(t, tt.want, noteOn(tt.command, tt.code, "Overwrite? [y/N] "))
		})
	}
}

const (
	leftOut = "The output has a question that was left unanswered, which can't be answered because stdin is empty. Use a flag such as -y, or pipe the answer in."
	secret  = "The command asked for a password, which can't be answered because stdin is empty and there is no terminal. Use a key, a token or a password file instead, or tell the user."
)

// The outputs come from real programs.
func TestQuestionWithinTheOutput(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, command string
		code          int
		output        string
		want          string
	}{
		{"su", "su -c id", 1, "Password: su: Authentication failure\n", secret},
		{"passwd", "passwd ada", 10, "New password: Password change has been aborted.\npasswd: Authentication token manipulation error\npasswd: password unchanged\n", secret},
		{"rm -i", "rm -i a b; ls", 0, "rm: remove regular file 'a'? rm: remove regular empty file 'b'? a\nb\n", leftOut},
		{"git add -p", "git add -p", 0, "@@ -1,2 +1,2 @@\n a\n-b\n+c\n(1/1) Stage this hunk [y,n,q,a,d,e,?]? \n", leftOut},

		{"a log with a password", "./check", 1, "login: password: sudo: 3 attempts\n", ""},
		{"another EOFError", "python3 x.py", 1, "Traceback (most recent call last):\n  File \"x.py\", line 1\nEOFError\n", ""},
		{"a log of rm -i", "grep -v x log", 0, "rm: remove regular file 'a'? a\n", ""},
		{"answered", "yes | rm -i a; ls", 0, "rm: remove regular file 'a'? b\n", ""},
		{"rm -i that failed", "rm a", 1, "rm: cannot remove 'a': Is a directory\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, noteOn(tt.command, tt.code, tt.output))
			require.Empty(t, advice.Notes(running(tt.command, tt.output)), "it may go on")
		})
	}
}
