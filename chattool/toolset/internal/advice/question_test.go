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

const (
	leftOut  = "The output has a question that was left unanswered, which can't be answered because stdin is empty. Use a flag such as -y, or pipe the answer in."
	unedited = "No one has edited the list of `git rebase -i`: the editor of commands is `true`, so every commit was picked as it was." +
		" Set GIT_SEQUENCE_EDITOR to a command that edits the file, such as \"sed -i '2s/^pick/squash/'\", or use git reset --soft, or git commit --fixup and rebase -i --autosquash."
	secret = "The command asked for a password, which can't be answered because stdin is empty and there is no terminal. Use a key, a token or a password file instead, or tell the user."
)

// A question that a command only prints is not one that it asks, whatever it does beside
// printing. The outputs come from real programs.
func TestQuestions(t *testing.T) {
	t.Parallel()
	const overwrite, rebased = "Overwrite? [y/N] ", "Successfully rebased and updated refs/heads/x.\n"
	for _, tt := range []struct {
		command string
		code    int
		output  string
		want    string
	}{
		{"apt-get install x", 1, "Do you want to continue? [Y/n] Abort.\n", question},
		{"x 2>&1 >/dev/null", 1, "Continue? ", question},
		{"yes | x", 1, "Continue? ", ""},
		{"x < answers", 1, "Continue? ", ""},
		{"x < /dev/null", 1, "Continue? ", question},
		{"x <<EOF\ny\nEOF", 1, "Continue? ", ""},
		{"(cd sub; x < answers)", 1, "Continue? ", ""},
		{"x", 1, "Abort.\n", ""},

		{"printf '" + overwrite + "'; exit 0", 0, overwrite, ""},
		{"cd /tmp && printf '" + overwrite + "'; exit", 0, overwrite, ""},
		{"ask() { printf '" + overwrite + "'; return 0; }; printf '" + overwrite + "'", 0, overwrite, ""},
		{"umask 022; set -e; trap : EXIT; unset X; X=1; printf '" + overwrite + "'; wait", 0, overwrite, ""},
		{"while :; do printf '" + overwrite + "'; break; done", 0, overwrite, ""},
		{"export X=1; printf '" + overwrite + "'; exit 0", 0, overwrite, ""},
		{"printf '" + overwrite + "'; exit 1", 1, overwrite, question},
		{"./install; exit 0", 0, overwrite, question},
		{"ask() { printf '" + overwrite + "'; read -r x; }; ask; exit 0", 0, overwrite, question},

		{"su -c id", 1, "Password: su: Authentication failure\n", secret},
		{"passwd ada", 10, "New password: Password change has been aborted.\npasswd: Authentication token manipulation error\npasswd: password unchanged\n", secret},
		{"./check", 1, "login: password: sudo: 3 attempts\n", ""},
		{"python3 x.py", 1, "Traceback (most recent call last):\n  File \"x.py\", line 1\nEOFError\n", ""},
		{"rm -i a b; ls", 0, "rm: remove regular file 'a'? rm: remove regular empty file 'b'? a\nb\n", leftOut},
		{"grep -v x log", 0, "rm: remove regular file 'a'? a\n", ""},
		{"yes | rm -i a; ls", 0, "rm: remove regular file 'a'? b\n", ""},
		{"rm a", 1, "rm: cannot remove 'a': Is a directory\n", ""},

		{"cd x && git -C y rebase --autostash -i main", 0, rebased, unedited},
		{"git rebase --interactive main", 0, rebased, unedited},
		{"git rebase -i main", 0, "error: could not apply 1234567\n", ""},
		{"git rebase main; grep -i x f", 0, rebased, ""},
		{"git rebase -Xignore-space-change main", 0, rebased, ""},
		{"git rebase -i --autosquash main", 0, rebased, ""},
		{"git rebase -ix make main", 0, rebased, ""},
		{"GIT_SEQUENCE_EDITOR=true git rebase -i main", 0, rebased, ""},
	} {
		require.Equal(t, tt.want, noteOn(tt.command, tt.code, tt.output), tt.command)
		if strings.HasSuffix(tt.output, "\n") {
			require.Empty(t, advice.Notes(running(tt.command, tt.output)), "%s: it may go on", tt.command)
		}
	}
}
