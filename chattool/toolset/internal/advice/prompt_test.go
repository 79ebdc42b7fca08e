package advice_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/toolproc/toolproc/chattool/toolset/internal/advice"
)

const question = "The last line looks like a question, and nobody can answer it: stdin is empty. Use a flag such as -y, or pipe the answer in."

func TestPrompt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, output string
		want         bool
	}{
		{"yes or no", "3 packages\nDo you want to continue? [Y/n] ", true},
		{"yes or no in parentheses", "Proceed (y/n)? ", true},
		{"ssh", "Are you sure you want to continue connecting (yes/no/[fingerprint])? ", true},
		{"npx", "Need to install the following packages:\nx@1.0.0\nOk to proceed? (y) ", true},
		{"question", "Overwrite main.go? ", true},
		{"password", "Password: ", true},
		{"sudo", "[sudo] password for ada: ", true},
		{"key", "Enter passphrase for key '/home/ada/.ssh/id': ", true},
		{"git", "Username for 'https://example.com': ", true},
		{"enter", "Enter your name: ", true},
		{"choice", "  Select an option > ", true},
		{"any key", "Press any key to continue . . .", true},
		{"return", "Press ENTER to continue", true},
		{"python", ">>> ", true},
		{"database", "app=> ", true},

		{"nothing", "", false},
		{"a whole line", "Do you want to continue? [Y/n] \n", false},
		{"a line before", "Continue? [y/N] \nbuilding", false},
		{"progress", "Downloading: ", false},
		{"progress with dots", "Compiling... ", false},
		{"percent", "  12% ", false},
		{"a word", "done", false},
		{"colon at the end", "error:", false},
		{"question without an end", "what is this?", false},
		{"a comparison", "a > ", false},
		{"password in the middle", "password: wrong, and so on", false},
		{"too long for one", "Enter " + string(make([]byte, 300)) + ": ", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := ""
			if tt.want {
				want = question
			}
			require.Equal(t, want, noteOn("x", 1, tt.output), "failed")
			require.Empty(t, noteOn("x", 0, tt.output), "succeeded")

			r := running("x", tt.output)
			r.Reading = true
			require.Equal(t, want, noteOf(r), "running")
			r.Ran = 0
			require.Empty(t, advice.Notes(r), "has only just begun")
		})
	}
}

func TestPromptWithoutAnswer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, command, output string
		want                  bool
	}{
		{"apt", "apt-get install x", "Do you want to continue? [Y/n] Abort.\n", true},
		{"python", "python3 x.py", "Name: Traceback (most recent call last):\n  File \"x.py\", line 1\nEOFError: EOF when reading a line\n", true},
		{"quoted", "x 'a < b | c'", "Continue? ", true},
		{"or", "x || y", "Continue? ", true},
		{"commented", "x # | y", "Continue? ", true},
		{"stderr", "x 2>&1 >/dev/null", "Continue? ", true},
		{"piped", "yes | x", "Continue? ", false},
		{"from a file", "x < answers", "Continue? ", false},
		{"here-document", "x <<EOF\ny\nEOF", "Continue? ", false},
		{"here-string", "x <<< y", "Continue? ", false},
		{"in a subshell", "(cd sub; x < answers)", "Continue? ", false},
		{"not valid", "x '| y", "Continue? ", false},
		{"another abort", "x", "Abort.\n", false},
		{"another error", "x", "EOFError\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, noteOn(tt.command, 1, tt.output) == question)
		})
	}
}
