package proclocal_test

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A start that hangs does not hold up Close. It is answered with ErrClosed, and
// runs nothing when it goes on.
func TestCloseGivesUpAStartThatHangs(t *testing.T) {
	const grace = 100 * time.Millisecond
	dir := t.TempDir()
	inHook, goOn, went := make(chan struct{}), make(chan struct{}), make(chan struct{})
	l, err := proclocal.New(&proclocal.Options{
		StopGrace: grace,
		PerChat: func(context.Context, string) (*proclocal.ChatOptions, error) {
			close(inHook)
			<-goOn
			defer close(went)
			return &proclocal.ChatOptions{WorkDir: dir}, nil
		},
	})
	require.NoError(t, err)
	answered := make(chan error, 1)
	go func() { // waited for below
		out, err := l.Chat("chat").Start(context.Background(), procmgr.StartRequest{ID: "hangs", Command: "echo ran >ran"})
		assert.Empty(t, out.Process.ID, "it is a refusal")
		answered <- err
	}()
	<-inHook
	began := time.Now()
	require.NoError(t, l.Close())
	require.GreaterOrEqual(t, time.Since(began), grace)
	select {
	case err := <-answered:
		require.ErrorIs(t, err, procmgr.ErrClosed)
	case <-time.After(long):
		require.Fail(t, "the start is not answered")
	}
	_, err = l.Chat("chat").Output(t.Context(), "hangs", procmgr.OutputRequest{})
	require.ErrorIs(t, err, procmgr.ErrNotFound)
	close(goOn)
	<-went
	eventually(t, "the start is over", func() bool { return goroutines() == "" })
	require.NoFileExists(t, filepath.Join(dir, "ran"))
}

// A call that starts a command does not outlive its context, even if the start
// hangs. The command may begin then, so the error comes with the ID.
func TestStartThatHangsHasADeadline(t *testing.T) {
	dir := t.TempDir()
	goOn := make(chan struct{})
	l := newLocal(t, &proclocal.Options{WorkDir: dir, PerChat: func(context.Context, string) (*proclocal.ChatOptions, error) {
		<-goOn
		return nil, nil
	}})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	out, err := l.Start(ctx, procmgr.StartRequest{ID: "hangs", Command: "echo late", Wait: long})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, "hangs", out.Process.ID)
	close(goOn)
	require.Equal(t, "late\n", ended(t, l, "hangs").Text)
}

var number = regexp.MustCompile(`(?m)^\d+$`)

func TestClose(t *testing.T) {
	needs(t, "signals")
	l, err := proclocal.New(&proclocal.Options{StopGrace: 2 * time.Second})
	require.NoError(t, err)
	polite := begin(t, l, "trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.01; done").Process.ID
	stubborn := begin(t, l.Chat("a"), "trap '' TERM; echo ready; while :; do sleep 0.01; done").Process.ID
	detached := run(t, l, "sleep 1000 & echo $!")
	escaped := run(t, l, "setsid sleep 1000 >/dev/null 2>&1 & echo $!")
	done := run(t, l, "echo done").Process.ID

	began := time.Now()
	require.NoError(t, l.Close())
	require.Less(t, time.Since(began), long/2)
	require.NoError(t, l.Close(), "a second Close returns what the first did")

	for id, want := range map[string]struct {
		code  int
		cause procmgr.Cause
	}{
		polite:              {5, procmgr.CauseShutdown},
		stubborn:            {137, procmgr.CauseShutdown},
		detached.Process.ID: {0, procmgr.CauseShutdown},
		escaped.Process.ID:  {0, procmgr.CauseShutdown},
		done:                {0, procmgr.CauseExit},
	} {
		out, err := l.Output(t.Context(), id, procmgr.OutputRequest{})
		require.NoError(t, err, "what was printed can still be read")
		require.Equal(t, procmgr.Exited, out.Process.State)
		require.Equal(t, want.code, *out.Process.ExitCode)
		require.Equal(t, want.cause, out.Process.EndedBy)
	}
	require.False(t, alive(strings.TrimSpace(detached.Text)))
	require.False(t, alive(strings.TrimSpace(escaped.Text)))
	_, err = l.Start(context.Background(), procmgr.StartRequest{Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrClosed)
}
