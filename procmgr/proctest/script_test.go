package proctest_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// bubble runs a test with a Script in a bubble: sleeps take no time, and as long as they
// say by the clock.
func bubble(t *testing.T, f func(t *testing.T, s *proctest.Script)) {
	synctest.Test(t, func(t *testing.T) {
		s := proctest.NewScript()
		defer func() { require.NoError(t, s.Close()) }()
		f(t, s)
	})
}

func TestScriptTakesNoTime(t *testing.T) {
	bubble(t, func(t *testing.T, s *proctest.Script) {
		s.On("build", func(c *proctest.Command) int {
			for _, stage := range []string{"compiling", "linking"} {
				fmt.Fprintln(c, stage)
				c.Sleep(time.Hour)
			}
			return 3
		})
		m, began := s.Chat("a"), time.Now()
		out, err := m.Start(t.Context(), procmgr.StartRequest{ID: "b", Command: "build", Wait: time.Minute, Notify: "^link"})
		require.NoError(t, err)
		require.Equal(t, procmgr.Running, out.Process.State)
		require.Equal(t, time.Minute, time.Since(began))
		out, err = m.Output(t.Context(), "b", procmgr.OutputRequest{From: out.Next, Until: "ing$", Wait: 24 * time.Hour})
		require.NoError(t, err)
		require.Equal(t, "linking", out.MatchedLine)
		require.Equal(t, time.Hour, out.Process.Elapsed)
		out, err = m.Output(t.Context(), "b", procmgr.OutputRequest{Wait: 24 * time.Hour})
		require.NoError(t, err)
		require.Equal(t, 3, *out.Process.ExitCode)
		require.Equal(t, 2*time.Hour, time.Since(began))
		page, err := m.Events(t.Context(), procmgr.EventsRequest{})
		require.NoError(t, err)
		var told []string
		for _, e := range page.Events {
			told = append(told, fmt.Sprint(e.Kind, " ", e.At.Sub(began), " ", e.Line))
		}
		require.Equal(t, []string{"started 0s ", "matched 1h0m0s linking", "exited 2h0m0s "}, told)
	})
}

func TestScriptEnds(t *testing.T) {
	bubble(t, func(t *testing.T, s *proctest.Script) {
		s.On("serve*", func(c *proctest.Command) int {
			c.Sleep(time.Hour)
			return 0
		})
		out, err := s.Start(t.Context(), procmgr.StartRequest{Command: "serve"})
		require.NoError(t, err)
		require.NoError(t, s.Close())
		out, err = s.Output(t.Context(), out.Process.ID, procmgr.OutputRequest{})
		require.NoError(t, err)
		require.Equal(t, procmgr.Exited, out.Process.State)
		require.Equal(t, procmgr.CauseShutdown, out.Process.EndedBy)
		_, err = s.Start(t.Context(), procmgr.StartRequest{Command: "serve"})
		require.ErrorIs(t, err, procmgr.ErrClosed)
	})
}
