package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

// A matched line wakes the idle model, and the process ends while the model is told of
// it. The model reads both once, and each turn after it still has them.
func TestWakeTellsEachThingOnce(t *testing.T) {
	t.Parallel()
	var s stage
	answers := 0 // the server asks one answer after the other
	s = newStage(t, func([]string) reply {
		switch answers++; answers {
		case 1:
			return reply{words: "I start the tests.", tool: "execute", arguments: map[string]any{
				"command":           "until [ -e go ]; do sleep 0.05; done; echo 3 failing; until [ -e end ]; do sleep 0.05; done; exit 1",
				"run_in_background": true, "notify_on": "failing",
			}}
		case 3: // the match is told
			s.write(t, "end")
			require.Eventually(t, func() bool {
				page, err := s.manager.List(t.Context(), procmgr.ListRequest{})
				return err == nil && len(page.Processes) == 1 && page.Processes[0].State == procmgr.Exited
			}, long, 5*time.Millisecond)
		}
		return reply{words: "So it is."}
	})
	in, typed := io.Pipe()
	talked := make(chan struct{})
	go func() { // the test waits for it
		defer close(talked)
		s.session.talk(t.Context(), in)
	}()
	ended := make(chan struct{})
	s.out.on("So it is.", func() { s.write(t, "go") })
	s.out.on("exited with code 1", func() { close(ended) })
	_, err := typed.Write([]byte("Test it.\n"))
	require.NoError(t, err)
	wait(t, ended)
	require.Eventually(t, func() bool { return s.server.asked() == 4 }, long, 5*time.Millisecond)
	go func() { _, _ = typed.Write([]byte("Thank you.\n")) }() // it ends when the line has been read
	require.Eventually(t, func() bool { return s.server.asked() == 5 }, long, 5*time.Millisecond)
	require.NoError(t, typed.Close())
	wait(t, talked)
	require.Equal(t, 5, s.server.asked())
	last := string(s.server.request(-1))
	require.Equal(t, 1, strings.Count(last, "printed a line that matches"))
	require.Equal(t, 1, strings.Count(last, "exited with code 1"))
	require.Contains(t, last, `last line: \"3 failing\"`)
}

func wait(t *testing.T, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(long):
		t.Fatal("it does not happen")
	}
}
