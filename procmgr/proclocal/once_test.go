package proclocal_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

func TestNewID(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		id := procmgr.NewID()
		require.Regexp(t, "^[a-z2-7]{10}$", id)
		require.False(t, seen[id])
		seen[id] = true
	}
}

func TestOnceConflict(t *testing.T) {
	l := newLocal(t, &proclocal.Options{WorkDir: func() string { return "/" }})
	base := procmgr.StartRequest{ID: "x", Command: "true", WorkDir: "/", Env: map[string]string{"A": "1"}, Wait: long}
	_, err := l.Start(t.Context(), base)
	require.NoError(t, err)
	tests := []struct {
		name   string
		change func(*procmgr.StartRequest)
		same   bool
	}{
		{"the same", func(*procmgr.StartRequest) {}, true},
		{"another label, wait and limit", func(r *procmgr.StartRequest) { r.Background, r.Wait, r.Limit.Bytes = true, 0, 5 }, true},
		{"another command", func(r *procmgr.StartRequest) { r.Command = "false" }, false},
		{"another directory", func(r *procmgr.StartRequest) { r.WorkDir = "/tmp" }, false},
		{"another value", func(r *procmgr.StartRequest) { r.Env = map[string]string{"A": "2"} }, false},
		{"a variable more", func(r *procmgr.StartRequest) { r.Env = map[string]string{"A": "1", "B": ""} }, false},
		{"no variable", func(r *procmgr.StartRequest) { r.Env = nil }, false},
		{"a boundary moved", func(r *procmgr.StartRequest) { r.Command, r.WorkDir = "true/", "" }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := base
			tt.change(&req)
			out, err := l.Start(t.Context(), req)
			if tt.same {
				require.NoError(t, err)
				require.True(t, out.Attached)
				return
			}
			require.ErrorIs(t, err, procmgr.ErrConflict)
			require.ErrorContains(t, err, "take another ID")
			require.Empty(t, out.Process.ID)
		})
	}
}

// A start that fails before the fork leaves its ID unused.
func TestOnceAfterFailure(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	l := newLocal(t, nil)
	req := procmgr.StartRequest{ID: "x", Command: "echo $PWD", WorkDir: dir, Wait: long}
	_, err := l.Start(t.Context(), req)
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	_, err = l.Output(t.Context(), "x", procmgr.OutputRequest{})
	require.ErrorIs(t, err, procmgr.ErrNotFound)

	require.NoError(t, os.Mkdir(dir, 0o700))
	out, err := l.Start(t.Context(), req)
	require.NoError(t, err)
	require.False(t, out.Attached)
	require.Equal(t, dir+"\n", out.Text)
}

// The same holds when only the tombstone is left.
func TestTombstone(t *testing.T) {
	l := newLocal(t, &proclocal.Options{Retain: time.Nanosecond})
	command := "echo hello; exit 3 # " + strings.Repeat("x", 1000)
	c := l.Chat("a")
	req := procmgr.StartRequest{ID: "x", Command: command, Wait: long}
	out, err := c.Start(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, "hello\n", out.Text)

	eventually(t, "the record goes", func() bool {
		page, err := c.List(t.Context(), procmgr.ListRequest{})
		all := page.Processes
		require.NoError(t, err)
		return len(all) == 0
	})
	for _, m := range []procmgr.Manager{c, l} {
		out, err = m.Output(t.Context(), "x", procmgr.OutputRequest{Wait: long})
		require.NoError(t, err)
		require.Equal(t, procmgr.Exited, out.Process.State)
		require.Equal(t, 3, *out.Process.ExitCode)
		require.Equal(t, procmgr.CauseExit, out.Process.EndedBy)
		require.Less(t, len(out.Process.Command), 300)
		require.Empty(t, out.Text)
		require.Equal(t, int64(6), out.Truncated.OmittedBytes)
		require.Equal(t, int64(6), out.Truncated.OriginalBytes)
		require.Equal(t, int64(6), out.Next)
	}
	out, err = c.Output(t.Context(), "x", procmgr.OutputRequest{From: 6})
	require.NoError(t, err)
	require.Nil(t, out.Truncated, "nothing after 6 is gone")

	out, err = c.Start(t.Context(), req)
	require.NoError(t, err)
	require.True(t, out.Attached)
	require.Equal(t, 3, *out.Process.ExitCode)
	req.Command = "true"
	_, err = c.Start(t.Context(), req)
	require.ErrorIs(t, err, procmgr.ErrConflict)
	require.ErrorIs(t, c.Signal(t.Context(), "x", procmgr.Kill), procmgr.ErrNotRunning)
	require.ErrorIs(t, l.Chat("b").Signal(t.Context(), "x", procmgr.Interrupt), procmgr.ErrNotFound)
}

// A chat that spends IDs without end pushes out its own IDs, and not those of
// another chat.
func TestTombstonesAreSharedFairly(t *testing.T) {
	l := newLocal(t, &proclocal.Options{Retain: time.Nanosecond})
	modest, greedy := l.Chat("modest"), l.Chat("greedy")
	_, err := modest.Start(t.Context(), procmgr.StartRequest{ID: "mine", Command: "exit 7", Wait: long})
	require.NoError(t, err)
	for i := range remembered + 10 {
		require.ErrorIs(t, greedy.Signal(t.Context(), fmt.Sprint("x", i), procmgr.Kill), procmgr.ErrNotFound)
	}
	out, err := modest.Output(t.Context(), "mine", procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, 7, *out.Process.ExitCode)
	_, err = greedy.Start(t.Context(), procmgr.StartRequest{ID: "x0", Command: "true", Wait: long})
	require.NoError(t, err, "its oldest is forgotten")
	_, err = greedy.Start(t.Context(), procmgr.StartRequest{ID: "x100", Command: "true", Wait: long})
	require.ErrorIs(t, err, procmgr.ErrConflict)
}

// If every chat has only one ID to remember, the oldest is forgotten first.
func TestTombstonesOfManyChats(t *testing.T) {
	l := newLocal(t, nil)
	for i := range remembered + 100 {
		require.ErrorIs(t, l.Chat(fmt.Sprint("c", i)).Signal(t.Context(), "x", procmgr.Kill), procmgr.ErrNotFound)
	}
	start := func(chat int) error {
		_, err := l.Chat(fmt.Sprint("c", chat)).Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "true", Wait: long})
		return err
	}
	require.NoError(t, start(0))
	require.ErrorIs(t, start(remembered+98), procmgr.ErrConflict)
	require.ErrorIs(t, start(remembered), procmgr.ErrConflict)
}

// A stop spends the ID even if its start is about to fail.
func TestOnceStopDuringFailingStart(t *testing.T) {
	asked, goOn := make(chan struct{}), make(chan struct{})
	dir := filepath.Join(t.TempDir(), "dir")
	require.NoError(t, os.Mkdir(dir, 0o700))
	l := newLocal(t, &proclocal.Options{UpdateEnv: func(env []string) ([]string, error) {
		close(asked)
		<-goOn
		return env, os.Remove(dir) // the directory must be gone at the fork
	}})
	failed := make(chan error)
	go func() {
		_, err := l.Start(context.Background(), procmgr.StartRequest{ID: "x", Command: "true", WorkDir: dir})
		failed <- err
	}()
	<-asked
	stopped := make(chan error)
	go func() { stopped <- l.Signal(context.Background(), "x", procmgr.Terminate) }()
	close(goOn)
	require.ErrorIs(t, <-failed, procmgr.ErrInvalid)
	require.ErrorIs(t, <-stopped, procmgr.ErrNotFound)
	_, err := l.Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrConflict)
}
