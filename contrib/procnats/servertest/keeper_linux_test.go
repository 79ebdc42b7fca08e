package servertest_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/procnats"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
)

// A machine whose processes are in a keeper is deployed anew: they go on, and an
// end that came meanwhile is published. An upgrade of the keeper is not noticed.
func TestMachineWithAKeeper(t *testing.T) {
	s := newStore(t)
	consumer := s.consumer(t, procnats.EndsConfig())
	dir, err := os.MkdirTemp("", "k") //nolint:usetesting // the name of t.TempDir is too long for a socket in it
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	name, chat := machine(t), newClient(t, connect(t, s.url), machine(t)).Chat("a")
	deploy := func() (*prockeep.Host, *procnats.Service) {
		keeper, err := prockeep.Open(t.Context(), filepath.Join(dir, "k"), &prockeep.Options{Idle: time.Minute})
		require.NoError(t, err)
		t.Cleanup(func() { _ = keeper.Close() }) // it may be closed already
		return keeper, serve(t, connect(t, s.url), name, keeper.Handler(), &procnats.Options{Host: keeper, Ends: true})
	}

	keeper, service := deploy()
	until := func(id string) string { return "while [ ! -e " + dir + "/" + id + " ]; do sleep 0.01; done; exit 3" }
	let := func(id string) { require.NoError(t, os.WriteFile(filepath.Join(dir, id), nil, 0o600)) }
	for _, id := range []string{"one", "two", "three"} {
		_, err := chat.Start(t.Context(), procmgr.StartRequest{ID: id, Command: until(id), Background: true})
		require.NoError(t, err)
	}
	require.NoError(t, service.Close())
	let("one")
	_, err = keeper.Chat("a").Output(t.Context(), "one", procmgr.OutputRequest{Wait: long})
	require.NoError(t, err)
	require.NoError(t, keeper.Close())

	keeper, service = deploy()
	t.Cleanup(func() { require.NoError(t, keeper.Stop(context.WithoutCancel(t.Context()))) })
	require.Equal(t, []string{name + " a one 3"}, ends(t, consumer, 1))
	for _, id := range []string{"two", "three"} {
		let(id)
		out, err := chat.Start(t.Context(), procmgr.StartRequest{ID: id, Command: until(id), Wait: long})
		require.NoError(t, err)
		require.True(t, out.Attached)
		require.Equal(t, 3, *out.Process.ExitCode)
		require.Equal(t, []string{name + " a " + id + " 3"}, ends(t, consumer, 1))
		next, err := prockeep.Open(t.Context(), filepath.Join(dir, "k"), &prockeep.Options{Idle: time.Minute, Replace: true})
		require.NoError(t, err)
		require.NoError(t, next.Close())
	}
	require.NoError(t, service.Close())
}
