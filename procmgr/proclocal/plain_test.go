package proclocal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

// Output for a terminal is read as plain text.
func TestPlainText(t *testing.T) {
	const command = `printf '\033[1;32mok\033[0m\r\n'; printf 'get 1%%\rget 50%%\rget 100%%\n'; printf '\033]0;title\007end\n'`
	require.Equal(t, "ok\nget 1%\nget 100%\nend\n", run(t, newLocal(t, nil), command).Text)
}

// A reader can see a progress line or a prompt, and wait for it, while the line
// goes on.
func TestLiveLine(t *testing.T) {
	needs(t, "FIFOs")
	l := newLocal(t, nil)
	fifo := t.TempDir() + "/fifo"
	out, err := l.Start(t.Context(), procmgr.StartRequest{Command: `mkfifo ` + fifo + `; exec 3<>` + fifo + `; echo begin
		printf 'get 1%%\rget 50%%'; read x <&3
		printf '\rget 100%%'; read x <&3
		printf '\n\033[1mPassword: \033[0m'; exec sleep 1000`})
	require.NoError(t, err)
	id := out.Process.ID
	wait := func(from int64, until string) procmgr.Output {
		out, err := l.Output(t.Context(), id, procmgr.OutputRequest{From: from, Until: until, Wait: long})
		require.NoError(t, err)
		require.True(t, out.Matched, "%q in %q", until, out.Text)
		return out
	}
	goOn := func() { run(t, l, "echo > "+fifo) }

	out = wait(0, "^get 50%$")
	require.Equal(t, "begin\nget 1%\nget 50%", out.Text)
	require.EqualValues(t, len("begin\nget 1%"), out.Next, "the live line has no offset yet")
	live, err := l.Output(t.Context(), id, procmgr.OutputRequest{From: out.Next})
	require.NoError(t, err)
	require.Equal(t, "\nget 50%", live.Text)
	require.Nil(t, live.Truncated)

	none, err := l.Output(t.Context(), id, procmgr.OutputRequest{From: out.Next, Until: "."})
	require.NoError(t, err)
	require.False(t, none.Matched, "what was there is not new")
	goOn()
	out = wait(out.Next, "100%")
	require.Equal(t, "\nget 100%", out.Text)
	goOn()
	out = wait(out.Next, "^Password: $")
	require.Equal(t, "\nget 100%\nPassword: ", out.Text, "and the one that was replaced is gone")

	// The newest state of a line counts as new output.
	any := make(chan procmgr.Output)
	go func() {
		out, err := l.Output(t.Context(), id, procmgr.OutputRequest{From: out.Next, Until: ".", Wait: long})
		if err != nil {
			out.Text = err.Error()
		}
		any <- out
	}()
	require.NoError(t, l.Signal(t.Context(), id, procmgr.Terminate))
	require.False(t, (<-any).Matched)
}

// The text that is held back at the end of the stream is part of it.
func TestLiveLineAtTheEnd(t *testing.T) {
	out := run(t, newLocal(t, nil), `printf 'get 1%%\rget 50%%'`)
	require.Equal(t, "get 1%\nget 50%", out.Text)
	require.EqualValues(t, len(out.Text), out.Next)
	require.Nil(t, out.Truncated)
}
