//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package proclocal_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// typeLine types a line, and waits for a line of the answer.
func typeLine(t testing.TB, m procmgr.Manager, id, line, until string) procmgr.InputOutput {
	t.Helper()
	out := input(t, m, id, procmgr.InputRequest{Data: []byte(line), Keys: []procmgr.Key{"enter"}, Until: until, Wait: long})
	require.True(t, out.Matched, "%q", out.Text)
	return out
}

func TestTerminalEnvironment(t *testing.T) {
	t.Setenv("TERM", "dumb")
	t.Setenv("EDITOR", "ed")
	t.Setenv("COLUMNS", "10")
	show := `echo "$TERM|$EDITOR|$COLUMNS|$NO_COLOR|$GIT_EDITOR"`
	for name, tt := range map[string]struct {
		opts proclocal.Options
		req  procmgr.StartRequest
		want string
	}{
		"of its own":  {want: "screen-256color|ed|||"},
		"the host's":  {opts: proclocal.Options{Env: envpolicy.Policy{Set: map[string]string{"TERM": "vt100", "GIT_EDITOR": "nano"}}}, want: "vt100|ed|||nano"},
		"the request": {req: procmgr.StartRequest{Env: map[string]string{"TERM": "xterm", "COLUMNS": "5"}}, want: "xterm|ed|5||"},
		"on a pipe":   {req: procmgr.StartRequest{Stdin: procmgr.StdinPipe}, want: "dumb|true|10|1|true"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, name := range []string{"NO_COLOR", "GIT_EDITOR"} {
				t.Setenv(name, "")
				require.NoError(t, os.Unsetenv(name))
			}
			l := newLocal(t, &tt.opts)
			tt.req.Command, tt.req.Wait = show, long
			if tt.req.Stdin == "" {
				tt.req.Stdin = procmgr.StdinTerminal
			}
			require.Equal(t, tt.want+"\n", start(t, l, tt.req).Text)
		})
	}
}

// All that was printed is read, although the end of a terminal is an error.
func TestTerminalIsReadToItsEnd(t *testing.T) {
	l := newLocal(t, nil)
	for range 5 {
		out := start(t, l, procmgr.StartRequest{
			Command: `i=0; while [ $i -lt 3000 ]; do echo "line $i"; i=$((i+1)); done; printf last`,
			Stdin:   procmgr.StdinTerminal, Wait: long,
		})
		require.Equal(t, procmgr.Exited, out.Process.State)
		require.True(t, strings.HasSuffix(out.Text, "line 2999\nlast"), "%q", out.Text[max(0, len(out.Text)-100):])
		require.Equal(t, int64(len("line 0\n")*10+len("line 10\n")*90+len("line 100\n")*900+len("line 1000\n")*2000+len("last")), out.Next)
	}
}

// A line editor has turned the echo off too, so a secret does not go to it. ctrl-c ends
// the program in the foreground alone.
func TestTerminalShell(t *testing.T) {
	testenv.Programs(t, "bash")
	l := newLocal(t, nil)
	id := opened(t, l, procmgr.StdinTerminal, `PS1='ready \#> ' exec bash --norc --noprofile -i`)
	ready(t, l, id, "^ready 1> $")
	_, err := l.Input(t.Context(), id, procmgr.InputRequest{Data: []byte("hunter2"), Secret: true, Wait: 100 * time.Millisecond})
	require.ErrorIs(t, err, procmgr.ErrNotReady)
	typeLine(t, l, id, "sleep 600 &", `^\[1\] \d+`)
	typeLine(t, l, id, "sh -c 'echo go; exec sleep 600'", "^go$") // it is in the foreground when it prints
	require.True(t, input(t, l, id, procmgr.InputRequest{Keys: []procmgr.Key{"ctrl-c"}, Wait: long, Until: "^ready 3> $"}).Matched)
	require.Contains(t, typeLine(t, l, id, "jobs", "sleep 600").Text, "Running")
	require.NoError(t, l.Signal(t.Context(), id, procmgr.Kill))
	require.NotContains(t, ended(t, l, id).Text, "hunter2")
}

func TestTerminalKeys(t *testing.T) {
	l := newLocal(t, nil)
	id := opened(t, l, procmgr.StdinTerminal, `stty raw -echo; printf ready; exec cat -v`)
	ready(t, l, id, "ready")
	look := func(want string, keys ...procmgr.Key) {
		t.Helper()
		out := input(t, l, id, procmgr.InputRequest{Keys: append(keys, "alt-z"), Until: `\^\[z$`, Wait: long})
		require.Equal(t, want+"^[z", strings.TrimPrefix(out.Text, "ready"))
	}
	look("^M", "enter")
	look("\t^[[Z", "tab", "shift-tab")
	look("^[[A^[[B^[[C^[[D", "up", "down", "right", "left")
	look("^[OP^[[24~", "f1", "f12")
	look("^@^A^Z^\\^?", "ctrl-space", "ctrl-a", "ctrl-z", "ctrl-backslash", "backspace")
	look("^[x^[^M^[[1;5C", "alt-x", "alt-enter", "ctrl-right")
	require.NoError(t, l.Signal(t.Context(), id, procmgr.Kill))

	// As programs ask for it.
	id = opened(t, l, procmgr.StdinTerminal, `stty raw -echo; printf '\033[?1hready'; exec cat -v`)
	ready(t, l, id, "ready")
	look("^[OA^[OB^[OC^[OD^[^[OA", "up", "down", "right", "left", "alt-up")
}

func TestTerminalPaste(t *testing.T) {
	l := newLocal(t, nil)
	id := opened(t, l, procmgr.StdinTerminal, `stty raw -echo; printf '\033[?2004hready'; exec cat -v`)
	ready(t, l, id, "ready")
	out := input(t, l, id, procmgr.InputRequest{Data: []byte("a\nb\n"), Keys: []procmgr.Key{"enter"}, Until: `\^M`, Wait: long})
	require.Equal(t, "^[[200~a\nb\n^[[201~^M", out.Text)
	require.Equal(t, 4, out.Written)
	out = input(t, l, id, procmgr.InputRequest{Data: []byte("one"), Until: `one`, Wait: long})
	require.Equal(t, "one", out.Text, "no line end, no paste")
	_, err := l.Input(t.Context(), id, procmgr.InputRequest{Data: []byte("a\x1b[201~\nrm -rf /\n")})
	require.ErrorIs(t, err, procmgr.ErrInvalid)

	// A text for which there is no room must not go on with what is written next, which is
	// an answer of the terminal.
	dir := t.TempDir()
	id = opened(t, l, procmgr.StdinTerminal, `cd `+dir+`; stty raw -echo; mkfifo go ask; printf '\033[?2004hready'; read x <go; cat -v </dev/tty & read x <ask; printf '\033[6n'; wait`)
	ready(t, l, id, "ready")
	data := bytes.Repeat([]byte("line\n"), 10_000)
	require.Less(t, input(t, l, id, procmgr.InputRequest{Data: data}).Written, len(data))
	run(t, l, "echo >"+dir+"/go")
	ready(t, l, id, "^line$")
	run(t, l, "echo >"+dir+"/ask")
	ready(t, l, id, `\^\[\[201~\^\[\[\d+;\d+R$`)
	out = input(t, l, id, procmgr.InputRequest{Data: []byte("next"), Until: "next$", Wait: long})
	require.Equal(t, "next", out.Text)
}

// A prompt that was there before the write is not the answer to it, whether it is
// drawn as one that a line editor draws anew or printed once.
func TestTerminalPromptBeforeTheWrite(t *testing.T) {
	l := newLocal(t, nil)
	for name, prompt := range map[string]string{"printed": `> `, "drawn": `...\r\033[K> `, "drawn by column": `...\033[1G\033[0J> \033[3G`} {
		t.Run(name, func(t *testing.T) {
			id := opened(t, l, procmgr.StdinTerminal, `stty -echo; printf '`+prompt+`'; while read -r x; do sleep 0.05; echo "got $x"; printf '`+prompt+`'; done`)
			ready(t, l, id, "^> $")
			for _, line := range []string{"one", "two", "three"} {
				out := input(t, l, id, procmgr.InputRequest{Data: []byte(line + "\n"), Until: "^> $", Wait: long})
				require.True(t, out.Matched)
				require.Contains(t, out.Text, "got "+line+"\n")
			}
			out := input(t, l, id, procmgr.InputRequest{Data: []byte("four\n"), Until: ".", Wait: long})
			require.Contains(t, out.Text, "got four\n")
			require.NoError(t, l.Signal(t.Context(), id, procmgr.Kill))
		})
	}
}

// What a shell on a terminal leaves in the background ends with it, unless it
// has taken care.
func TestTerminalHangsUp(t *testing.T) {
	testenv.Programs(t, "ps")
	l := newLocal(t, nil)
	dir := t.TempDir()
	out := start(t, l, procmgr.StartRequest{
		Command: "sleep 600 & echo $! >" + dir + "/ends; (trap '' HUP; exec sleep 600) >/dev/null 2>&1 & echo $! >" + dir + "/lives; sleep 0.2",
		Stdin:   procmgr.StdinTerminal, Wait: long,
	})
	require.Equal(t, procmgr.Detached, out.Process.State)
	pid := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return strings.TrimSpace(string(text))
	}
	state := func(name string) string {
		return run(t, l, "case $(ps -o stat= -p "+pid(name)+") in ''|Z*) echo gone;; *) echo lives;; esac").Text
	}
	require.Equal(t, "gone\n", state("ends"))
	require.Equal(t, "lives\n", state("lives"))
	require.NoError(t, l.Signal(t.Context(), out.Process.ID, procmgr.Kill))
}

// A program that does not read its input blocks no caller forever, and is ended
// as any other.
func TestTerminalIsFull(t *testing.T) {
	l := newLocal(t, nil)
	id := opened(t, l, procmgr.StdinTerminal, "stty raw -echo; printf ready; exec sleep 600")
	ready(t, l, id, "ready")
	data := bytes.Repeat([]byte("x"), 64<<10)
	for i := 0; ; i++ {
		require.Less(t, i, 100, "it takes everything")
		out := input(t, l, id, procmgr.InputRequest{Data: data})
		if out.Written < len(data) {
			break
		}
	}
	keys := slices.Repeat([]procmgr.Key{"enter"}, 1000) // there may be room for some
	eventually(t, "no key has room", func() bool {
		_, err := l.Input(t.Context(), id, procmgr.InputRequest{Keys: keys, Wait: time.Millisecond})
		return errors.Is(err, procmgr.ErrNotReady) && strings.Contains(err.Error(), "nothing was written")
	})
	done := make(chan error)
	go func() { // the test waits for it below
		_, err := l.Input(t.Context(), id, procmgr.InputRequest{Data: data, Wait: long})
		done <- err
	}()
	require.NoError(t, l.Signal(t.Context(), id, procmgr.Kill))
	require.ErrorIs(t, <-done, procmgr.ErrNotRunning)
}
