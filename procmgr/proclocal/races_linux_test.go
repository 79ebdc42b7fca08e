package proclocal_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A start that races Close is refused, or Close ends the process that it
// started. One that Close has given up in its fork is refused with its ID.
func TestStartRacesClose(t *testing.T) {
	marker := "toolproc-close-" + procmgr.NewID()
	t.Cleanup(func() { killMarked(marker) })
	for round := range 30 {
		var log safeBuffer
		l, err := proclocal.New(&proclocal.Options{StopGrace: -1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		var group sync.WaitGroup
		gate := make(chan struct{})
		for i := range 8 {
			group.Go(func() {
				<-gate
				for range 20 {
					out, err := l.Chat(fmt.Sprint("chat", i)).Start(context.Background(), procmgr.StartRequest{
						Command: "sleep 1000 & exec sleep 1000",
						Env:     map[string]string{"MARKER": marker},
					})
					if err != nil {
						assert.ErrorIs(t, err, procmgr.ErrClosed)
						if id := out.Process.ID; id != "" {
							assert.Contains(t, log.String(), `msg="a start that hangs was given up" process_id=`+id+" ")
						}
						return
					}
				}
			})
		}
		close(gate)
		if round%2 == 0 {
			eventually(t, "one has started", func() bool { return len(list(t, l)) > 0 })
		}
		require.NoError(t, l.Close())
		group.Wait()
		all := list(t, l)
		for _, p := range all {
			require.Equal(t, procmgr.Exited, p.State)
			require.Equal(t, procmgr.CauseShutdown, p.EndedBy)
		}
		require.Empty(t, marked(marker))
	}
}

// A process may end by itself while Close works, and leave a member that has
// left its session. Close does not miss that member.
func TestCloseFindsWhatLeavesMeanwhile(t *testing.T) {
	marker := "toolproc-leaves-" + procmgr.NewID()
	t.Cleanup(func() { killMarked(marker) })
	dir := t.TempDir()
	blocked, inHook := make(chan struct{}), make(chan struct{})
	var block atomic.Bool
	l, err := proclocal.New(&proclocal.Options{WorkDir: dir, PerChat: func(context.Context, string) (*proclocal.ChatOptions, error) {
		if block.Load() {
			close(inHook)
			<-blocked
		}
		return nil, nil
	}})
	require.NoError(t, err)
	const leavers = 12
	for i := range leavers {
		m := l.Chat(fmt.Sprint("chat", i))
		start(t, m, procmgr.StartRequest{
			ID:      "leaver",
			Command: "while [ ! -e go ]; do sleep 0.01; done; setsid sh -c 'touch left-$PPID; exec sleep 1000' >/dev/null 2>&1 & while [ ! -e left-$$ ]; do sleep 0.01; done",
			Env:     map[string]string{"MARKER": marker},
		})
	}
	block.Store(true)
	var group sync.WaitGroup
	group.Go(func() { // Close waits for this start, which is under way, and lets it run nothing
		_, err := l.Start(context.Background(), procmgr.StartRequest{Command: "sleep 1000"})
		assert.ErrorIs(t, err, procmgr.ErrClosed)
	})
	<-inHook
	group.Go(func() { assert.NoError(t, l.Close()) })
	eventually(t, "Close has begun", func() bool {
		_, err := l.Chat("other").Start(t.Context(), procmgr.StartRequest{Command: "true", WorkDir: "/no/such"})
		return errors.Is(err, procmgr.ErrClosed)
	})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	for i := range leavers {
		out, err := l.Chat(fmt.Sprint("chat", i)).Output(t.Context(), "leaver", procmgr.OutputRequest{Wait: long})
		require.NoError(t, err)
		require.NotEqual(t, procmgr.Running, out.Process.State)
	}
	close(blocked)
	group.Wait()
	require.Empty(t, marked(marker))
}
