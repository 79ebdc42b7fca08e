package prochttp_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

// One call sends a command, and returns its output and exit code.
func TestRoundTrip(t *testing.T) {
	c := overTCP(t, nil)
	invalid, text := `\377`, "\uFFFD"
	if runtime.GOOS == "windows" {
		invalid, text = "", "" // it would be of a code page, and the line with it
	}
	out := run(t, c.Chat("a"), `printf 'a\0b <&> \342\200\250 `+invalid+`\n'; exit 3`)
	require.Equal(t, "a\x00b <&> \u2028 "+text+"\n", out.Text)
	require.Equal(t, 3, *out.Process.ExitCode)
	require.Equal(t, procmgr.Exited, out.Process.State)
	require.Equal(t, procmgr.CauseExit, out.Process.EndedBy)
	require.Equal(t, "a", out.Process.ChatID)
	require.False(t, out.Attached)
	require.NotZero(t, out.Process.Usage)
	require.WithinDuration(t, time.Now(), out.Process.StartedAt, time.Minute)
	require.False(t, out.Process.ExitedAt.Before(out.Process.StartedAt))

	again, err := c.Output(t.Context(), out.Process.ID, procmgr.OutputRequest{From: 2})
	require.NoError(t, err)
	require.Equal(t, out.Text[2:], again.Text)
	require.Equal(t, out.Process, again.Process)

	page, err := c.List(t.Context(), procmgr.ListRequest{})
	all := page.Processes
	require.NoError(t, err)
	require.Equal(t, []procmgr.Process{again.Process}, all)
	page, err = c.Chat("b").List(t.Context(), procmgr.ListRequest{})
	none := page.Processes
	require.NoError(t, err)
	require.Empty(t, none)
	require.ErrorIs(t, c.Chat("b").Signal(t.Context(), out.Process.ID, procmgr.Kill), procmgr.ErrNotFound)
	require.ErrorIs(t, c.Chat("a").Signal(t.Context(), out.Process.ID, procmgr.Kill), procmgr.ErrNotRunning)
}
