package proclocal_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

func TestMaxLifetime(t *testing.T) {
	needs(t, "signals")
	const soon = 200 * time.Millisecond
	polite := "trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.01; done"
	for name, tc := range map[string]struct {
		command  string
		ours, of time.Duration // of the manager and of the request
		code     int
		cause    procmgr.Cause
	}{
		"of the request":       {polite, 0, soon, 5, procmgr.CauseLifetime},
		"of the manager":       {polite, soon, 0, 5, procmgr.CauseLifetime},
		"the manager's first":  {polite, soon, time.Hour, 5, procmgr.CauseLifetime},
		"the request's first":  {polite, time.Hour, soon, 5, procmgr.CauseLifetime},
		"takes no Terminate":   {"trap '' TERM; while :; do sleep 0.01; done", 0, soon, 137, procmgr.CauseLifetime},
		"detached":             {"sleep 1000 & exit 3", 0, soon, 3, procmgr.CauseLifetime},
		"daemon":               {"setsid sleep 1000 >/dev/null 2>&1 & exit 3", 0, soon, 3, procmgr.CauseLifetime},
		"ends before its time": {"exit 4", time.Hour, time.Hour, 4, procmgr.CauseExit},
		"none":                 {"sleep 0.3; exit 4", -1, 0, 4, procmgr.CauseExit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLocal(t, &proclocal.Options{MaxLifetime: tc.ours, StopGrace: 2 * soon})
			began := time.Now()
			start(t, l, procmgr.StartRequest{ID: "x", Command: tc.command, MaxLifetime: tc.of})
			p := ended(t, l, "x").Process
			require.Equal(t, tc.code, *p.ExitCode)
			require.Equal(t, tc.cause, p.EndedBy)
			if tc.cause == procmgr.CauseLifetime {
				require.GreaterOrEqual(t, time.Since(began), soon)
			}
		})
	}
}

// An interrupt that a process has survived did not end it, and Close does not wait for the
// end of a lifetime.
func TestMaxLifetimeAndOtherCauses(t *testing.T) {
	needs(t, "signals")
	l, err := proclocal.New(&proclocal.Options{StopGrace: time.Hour})
	require.NoError(t, err)
	req := procmgr.StartRequest{ID: "x", Command: "trap 'echo ready' INT; trap 'exit 5' TERM; echo begin; while :; do sleep 0.01; done", MaxLifetime: 500 * time.Millisecond}
	ready(t, l, start(t, l, req).Process.ID, "begin")
	require.NoError(t, l.Signal(t.Context(), "x", procmgr.Interrupt))
	require.Equal(t, procmgr.CauseLifetime, ended(t, l, "x").Process.EndedBy)

	req.ID, req.MaxLifetime = "y", time.Hour
	ready(t, l, start(t, l, req).Process.ID, "begin")
	require.NoError(t, l.Close())
	require.Equal(t, procmgr.CauseShutdown, output(t, l, "y", procmgr.OutputRequest{}).Process.EndedBy)
}

// An ID that may have been forgotten is not started if it is older than what is remembered.
func TestAge(t *testing.T) {
	l := newLocal(t, &proclocal.Options{Retain: time.Nanosecond})
	c := l.Chat("a")
	try := func(id string, age time.Duration) error {
		_, err := c.Start(t.Context(), procmgr.StartRequest{ID: id, Command: "true", Age: age, Wait: long})
		return err
	}
	began := time.Now()
	require.NoError(t, try("x", time.Nanosecond), "this manager is older")
	require.ErrorIs(t, try("y", time.Minute), procmgr.ErrUnknown)
	require.NoError(t, try("y", 0))
	eventually(t, "the records go", func() bool { return len(list(t, c)) == 0 })
	require.NoError(t, try("x", time.Hour), "its tombstone is there")
	for i := range 3 * 16384 / 2 {
		require.ErrorIs(t, c.Signal(t.Context(), fmt.Sprint("spent", i), procmgr.Kill), procmgr.ErrNotFound)
	}
	require.NoError(t, try("z", time.Nanosecond))
	for _, id := range []string{"x", "y", "spent0"} {
		require.ErrorIs(t, try(id, time.Since(began)), procmgr.ErrUnknown, id)
	}
	require.ErrorIs(t, try("spent20000", time.Since(began)), procmgr.ErrConflict)
	require.ErrorIs(t, try("spent20000", time.Hour), procmgr.ErrUnknown, "it was stopped here, and may have run before")
	require.NoError(t, l.Close())
	require.ErrorIs(t, try("w", time.Hour), procmgr.ErrClosed)
}
