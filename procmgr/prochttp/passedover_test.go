package prochttp_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

// The client too reports which directory was passed over: at once, after a lost
// answer, and when a wait goes on in slices.
func TestPassedOver(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a directory that a program is in cannot be removed there")
	}
	own := t.TempDir()
	t.Setenv("HOME", t.TempDir())
	t.Chdir(own)
	require.NoError(t, os.Remove(own))
	local := newLocal(t, nil)
	const says = "the program's own directory has gone"
	p := newProxy(t, serve(t, newHandler(t, local, nil)))
	c := newClient(t, p.url, nil).Chat("a")

	out := run(t, c, "pwd")
	require.Equal(t, says, out.PassedOver)
	out, err := c.Output(t.Context(), out.Process.ID, procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, says, out.PassedOver)

	p.set(func(p *proxy) { p.plan = once("/start", lostAnswer) })
	require.Equal(t, says, run(t, c, "pwd").PassedOver)

	slices, p := sliced(t, local)
	require.Equal(t, says, run(t, slices, "sleep 0.2").PassedOver)
	require.Positive(t, p.count("/output"), "it was one wait in several requests")

	out, err = c.Start(t.Context(), procmgr.StartRequest{Command: "true", WorkDir: t.TempDir(), Wait: long})
	require.NoError(t, err)
	require.Empty(t, out.PassedOver)
}
