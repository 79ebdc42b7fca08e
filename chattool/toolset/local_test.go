//go:build linux || darwin || freebsd

package toolset_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// local is the tools on real processes, in a directory of the test's own.
type local struct {
	t       *testing.T
	set     *toolset.Set
	dir     string
	manager procmgr.Manager // of the chat
}

func newLocal(t *testing.T, opts *toolset.Options) *local {
	t.Helper()
	dir := t.TempDir()
	options := &proclocal.Options{WorkDir: dir}
	// Whatever the tests' own environment has, this alone is withheld.
	options.Env.Allow, options.Env.Exclude = []string{"*"}, []string{"DEPLOY_TOKEN"}
	manager := newHost(t, options)
	chat := manager.Chat("chat")
	return &local{t: t, dir: dir, set: newSet(toolset.Static(chat), opts), manager: chat}
}

// call makes one call; pairs are its arguments.
func (l *local) call(ctx context.Context, tool string, pairs ...any) map[string]any {
	l.t.Helper()
	res := l.set.Call(ctx, toolset.Call{ID: "call", Name: tool, Arguments: []byte(arguments(l.t, pairs...))})
	got := contents(l.t, res)
	got["isError"] = res.IsError
	return got
}

// A command that outlasts its timeout goes on, and is found again.
func TestLocalTimeout(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil)
	fifo := filepath.Join(l.dir, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	got := l.call(t.Context(), "execute", "command", "echo first; cat fifo; echo last; exit 4", "timeout", 0.2)
	require.Equal(t, false, got["success"])
	require.Equal(t, "running", got["state"])
	require.NotContains(t, got, "exit_code")
	require.Equal(t, "first\n", got["output"])
	id := got["process_id"].(string)
	require.NotEmpty(t, id)

	list := l.call(t.Context(), "process_list")
	require.Equal(t, id, list["processes"].([]any)[0].(map[string]any)["process_id"])

	require.NoError(t, os.WriteFile(fifo, []byte("second\n"), 0o600))
	next := l.call(t.Context(), "process_output", "process_id", id, "since", got["next_offset"], "wait_timeout", "10s")
	require.Equal(t, "second\nlast\n", next["output"])
	require.EqualValues(t, 4, next["exit_code"])
	require.Equal(t, "exited", next["state"])
	require.NotContains(t, next, "process_id")

	whole := l.call(t.Context(), "process_output", "process_id", id)
	require.Equal(t, "first\nsecond\nlast\n", whole["output"], "reading consumes nothing")
}

func TestLocalBackground(t *testing.T) {
	t.Parallel()
	l := newLocal(t, nil)
	for _, arguments := range [][]any{
		{"command", "echo up; exec sleep 100 &"},
		{"command", "A=1; exec sh -c 'echo ready $0; exec sleep 100' $A & # the server"},
		{"command", "echo ready 1; exec sleep 100", "run_in_background", true},
	} {
		got := l.call(t.Context(), "execute", arguments...)
		require.Equal(t, true, got["success"], got)
		id := got["process_id"].(string)
		if strings.HasPrefix(arguments[1].(string), "echo up") {
			require.Equal(t, "detached", got["state"])
			require.NotContains(t, got["note"], "taken off")
		} else {
			require.Equal(t, "running", got["state"])
			ready := l.call(t.Context(), "process_output", "process_id", id, "wait_for", "^ready", "wait_timeout", "10s")
			require.Equal(t, "ready 1\n", ready["output"])
			require.Contains(t, ready["note"], "wait_for matched")
		}
		ended := l.call(t.Context(), "process_signal", "process_id", id, "signal", "SIGTERM")
		require.Equal(t, true, ended["success"])
		require.Equal(t, "exited", ended["state"], ended)
		again := l.call(t.Context(), "process_signal", "process_id", id, "signal", "kill")
		require.Equal(t, true, again["success"])
		require.Contains(t, again["note"], "already ended")
	}
}

// The notes on real commands are true.
func TestLocalAdvice(t *testing.T) {
	t.Setenv("ADVICE_API_KEY", "hidden")
	dir := t.TempDir()
	manager := newHost(t, &proclocal.Options{LogDir: filepath.Join(dir, "all logs"), WorkDir: dir})
	l := &local{t: t, set: newSet(toolset.Static(manager.Chat("chat")), nil)}

	got := l.call(t.Context(), "execute", "command", "sh -c 'echo broken; exit 3' | tail -n 5")
	require.Equal(t, true, got["success"])
	require.Contains(t, got["note"], "exit_code is that of tail and does not tell whether `sh -c 'echo broken; exit 3'` succeeded.")

	got = l.call(t.Context(), "execute", "command", `echo "key: $ADVICE_API_KEY"`)
	require.Equal(t, "key: \n", got["output"])
	require.Contains(t, got["note"], "as secrets are: ADVICE_API_KEY.")

	got = l.call(t.Context(), "execute", "command", "printf 'Continue? [y/N] '; read -r answer")
	require.Equal(t, false, got["success"])
	require.Contains(t, got["note"], "stdin is empty")

	got = l.call(t.Context(), "execute", "command", "yes again | head -n 10000")
	require.Regexp(t, `^again\n\.\.\. \[the line above \d+ times more\] \.\.\.\n`, got["output"])
	require.Less(t, len(got["output"].(string)), 300)

	// The log has the line that the result misses, under the path that the
	// note gives to a shell.
	got = l.call(t.Context(), "execute", "command", "seq 100000")
	require.NotContains(t, got["output"], "\n50000\n")
	require.Contains(t, got["note"], "search it with grep -n -a PATTERN FILE")
	path := got["log_path"].(string)
	require.Contains(t, path, "all logs")
	got = l.call(t.Context(), "execute", "command", "grep -n '^50000$' '"+path+"'")
	require.Equal(t, "50000:50000\n", got["output"])
}

// The first command that fails has no note on a variable that nothing has named. One
// whose output names it has.
func TestWithheldOnlyWhereNamed(t *testing.T) {
	t.Setenv("DEPLOY_TOKEN", "hidden")
	l := newLocal(t, nil)
	got := l.call(t.Context(), "execute", "command", "grep x /no/such/file")
	require.EqualValues(t, 2, got["exit_code"])
	require.NotContains(t, got, "note")

	const script = "test -n \"$DEPLOY_TOKEN\" || { echo DEPLOY_TOKEN is not set; exit 3; }\n"
	require.NoError(t, os.WriteFile(filepath.Join(l.dir, "deploy.sh"), []byte(script), 0o600))
	got = l.call(t.Context(), "execute", "command", "sh ./deploy.sh || true")
	require.Equal(t, true, got["success"])
	require.NotContains(t, got, "note")

	got = l.call(t.Context(), "execute", "command", "sh ./deploy.sh")
	require.EqualValues(t, 3, got["exit_code"])
	require.Equal(t, "Set on the host, but kept from commands by its environment policy, as secrets are: DEPLOY_TOKEN. If the command needs what is kept from it, the user can allow it.", got["note"])
}

// A result that has a masked value says so, once. One that only prints the words of a
// mask does not.
func TestLocalRedacted(t *testing.T) {
	t.Parallel()
	const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".env"), []byte("A="+token+"\nB=other-16C7e42F292c6912\nC="+token+"\n"), 0o600))
	host := newHost(t, &proclocal.Options{
		WorkDir: dir,
		Redact:  []proclocal.Secret{{Name: "GITHUB_TOKEN", Value: token}, {Name: "B 100%", Value: "other-16C7e42F292c6912"}},
	})
	l := &local{t: t, dir: dir, set: newSet(toolset.Static(host.Chat("chat")), nil)}
	const one = "Masked in the output, not in files: GITHUB_TOKEN. Commands see what is really there."
	got := l.call(t.Context(), "execute", "command", "head -n 1 .env; tail -n 1 .env")
	require.Equal(t, "A=[withheld: GITHUB_TOKEN]\nC=[withheld: GITHUB_TOKEN]\n", got["output"])
	require.Equal(t, 1, strings.Count(got["note"].(string), one), got["note"])
	got = l.call(t.Context(), "execute", "command", "grep -n . .env")
	require.Contains(t, got["note"], `Masked in the output, not in files: GITHUB_TOKEN, "B 100%".`)
	got = l.call(t.Context(), "execute", "command", "echo '[withheld: GITHUB_TOKEN]'")
	require.NotContains(t, got, "note")
	got = l.call(t.Context(), "execute", "command", "cat .env; seq 1000; echo end", "max_output", 50)
	require.NotContains(t, got["output"], "16C7e")
	require.NotContains(t, got["note"], "16C7e")
}

// What a result cannot show as it was printed is shown as something else, and the note
// says so. A host can keep any result in a database, and most refuse a NUL.
func TestLocalUnprintable(t *testing.T) {
	t.Parallel()
	const nul = "␀ stands for a NUL byte"
	for _, tt := range []struct{ name, command, output, note string }{
		{"names that end in a NUL", `printf 'a b\0c\0'`, "a b␀c␀", nul},
		{"Latin-1", `printf 'caf\351 au lait\n'`, "caf\uFFFD au lait\n", "1 byte is not UTF-8, shown as U+FFFD"},
		{"several bytes", `printf '\377\376\351 \303\251\n'`, "\uFFFD\uFFFD\uFFFD é\n", "3 bytes are not UTF-8, each shown as U+FFFD"},
		{"one that a program printed", `printf '\357\277\275\n'`, "\uFFFD\n", ""},
		{"one that a program printed, and a byte", `printf '\357\277\275\351\n'`, "\uFFFD\uFFFD\n", "1 byte is not UTF-8, shown as U+FFFD"},
		{"both", `printf '\0\351'`, "␀\uFFFD", "1 byte is not UTF-8, shown as U+FFFD. " + nul},
		{"a sign for NUL that a program printed", `printf '\342\220\200\n'`, "␀\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			chat := newHost(t, &proclocal.Options{}).Chat("a")
			for _, format := range []toolset.Format{toolset.FormatJSON, toolset.FormatText} {
				set := newSet(toolset.Static(chat), &toolset.Options{Format: format})
				res := set.Call(t.Context(), toolset.Call{Name: "execute", Arguments: []byte(arguments(t, "command", tt.command))})
				require.Equal(t, tt.output, *res.Report.Output)
				require.Equal(t, tt.note, strings.Join(res.Report.Notes, ". "))
				require.NotContains(t, res.Content, "\x00")
				require.NotContains(t, res.Content, `\u0000`)
			}
		})
	}
	// Neither is there a NUL in what differs from an earlier output.
	t.Run("again", func(t *testing.T) {
		t.Parallel()
		l := newLocal(t, nil)
		const command = `seq 1 2000; printf 'a\0b'; cat n; echo x >> n`
		l.call(t.Context(), "execute", "command", "echo 1 > n")
		l.call(t.Context(), "execute", "command", command)
		got := l.call(t.Context(), "execute", "command", command)
		require.Contains(t, got, "again", got)
		require.Contains(t, got["output"], "a␀b")
		require.NotContains(t, got["output"], "\x00")
		require.Contains(t, got["note"], nul)
	})
}

// If a character of a command is not what it looks like, the note names it: what the shell
// prints shows it as it looks.
func TestLocalCharacters(t *testing.T) {
	t.Parallel()
	testenv.Programs(t, "grep")
	for _, tt := range []struct{ name, command, note string }{
		{"a no-break space", "ls\u00a0-l", `the invisible character U+00A0 in "ls\u00a0-l"`},
		{"a no-break space in a command that succeeds", "echo a\u00a0b", `the invisible character U+00A0 in "a\u00a0b"`},
		{"a wide space", "ls\u3000-l", `the invisible character U+3000 in "ls\u3000-l"`},
		{"a zero-width space", "cd /\u200b", `the invisible character U+200B in "/\u200b"`},
		{"a zero-width joiner", "ls\u200d -l", `the invisible character U+200D in "ls\u200d"`},
		{"a byte order mark", "\ufeffls", `the invisible character U+FEFF in "\ufeffls"`},
		{"a direction", "ls \u202e-l", `the invisible character U+202E in "\u202e-l"`},
		{"line ends of two characters", "echo a\r\necho b\r\n", `carriage returns (CR, U+000D) at the ends of its lines: the shell takes each for a part of the last word, as in "a\r"`},
		{"line ends of two characters in a here-document", "cat <<'EOF' > f\r\nhello\r\nEOF\r\n", `carriage returns (CR, U+000D) at the ends of its lines: the shell takes each for a part of the last word, as in "f\r"`},
		{"an entity that does not parse", "cd / &amp;&amp; ls", "the HTML entity &amp;"},
		{"an entity that parses", "echo a &gt; f", "the HTML entity &gt;"},
		{"entities in a redirection", "ls /nope 2&gt;&amp;1 | tail", "the HTML entity &gt;"},
		{"an en dash", "ls \u2013la", `the typographic character U+2013 in "\u2013la"`},
		{"an em dash", "ls \u2014\u2014all", `the typographic character U+2014 in "\u2014\u2014all"`},
		{"typographic quotes", "grep -c \u201cno such\u201d /dev/null", `the typographic character U+201C in "\u201cno"`},

		{"in quotes", "ls /nope 'a\u00a0b' \"c\u200b &amp; \u2013d\"", ""},
		{"in a here-document", "cat > g <<X\n&amp; \u00a0\r\n\ufeff \u2013x\nX\nfalse", ""},
		{"in a comment", "false # a\u00a0b \u2013c &amp; d", ""},
		{"in quotes within quotes", "echo \"$(echo \"&amp;\")\"; false", ""},
		{"an emoji of several", "echo \U0001F468\u200d\U0001F469", ""},
		{"a dash that is none of an option", "echo a \u2013 b\u2014c", ""},
		{"an apostrophe", "echo it isn\u2019t so; false", ""},
		{"letters", "echo \u00fcber; false", ""},
		{"an escaped ampersand", `echo x | sed s/x/\&amp;/`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newLocal(t, nil)
			got := l.call(t.Context(), "execute", "command", tt.command)
			note, _ := got["note"].(string)
			if tt.note == "" {
				require.NotContains(t, note, "The command has", got)
			} else {
				require.Contains(t, note, "The command has "+tt.note, got)
			}
		})
	}
}
