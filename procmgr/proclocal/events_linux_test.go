package proclocal_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// If a search finds that a process lives after all, that is an event, and so is
// its second end. It also holds if the record had become a tombstone meanwhile.
func TestEventsOfARevivedProcess(t *testing.T) {
	testenv.Programs(t, "setsid")
	for _, retain := range []time.Duration{0, time.Nanosecond} {
		l := newLocal(t, &proclocal.Options{Retain: retain})
		var told []string
		for try := 0; ; try++ {
			require.Less(t, try, 20, "it is seen at once each time")
			id := run(t, l, "setsid -f sleep 600 >/dev/null 2>&1; exit 3").Process.ID
			next := ""
			told = nil
			hear := func(kind procmgr.EventKind) procmgr.Event {
				for {
					page := events(t, l, procmgr.EventsRequest{After: next, Wait: long, Limit: 1})
					require.Len(t, page.Events, 1, "%v was told, and not %s", told, kind)
					next = page.Next
					if e := page.Events[0]; e.Process.ID == id {
						told = append(told, string(e.Kind))
						if e.Kind == kind {
							return e
						}
					}
				}
			}
			hear(procmgr.EventStarted)
			if out, err := l.Output(t.Context(), id, procmgr.OutputRequest{}); err == nil && out.Process.State == procmgr.Detached && out.Process.ExitedAt.IsZero() {
				page := events(t, l, procmgr.EventsRequest{After: next, Limit: 1})
				if len(page.Events) > 0 && page.Events[0].Kind == procmgr.EventDetached {
					require.NoError(t, l.Signal(t.Context(), id, procmgr.Kill))
					continue // the shell was slow, so that its child was seen
				}
			}
			e := hear(procmgr.EventRevived)
			require.Equal(t, procmgr.Detached, e.Process.State)
			require.Equal(t, 3, *e.Process.ExitCode)
			require.Zero(t, e.Process.ExitedAt)
			all := inOrder(t, l)
			require.Equal(t, procmgr.Detached, all[len(all)-1].State, "List agrees")
			require.NoError(t, l.Signal(t.Context(), id, procmgr.Kill))
			require.Equal(t, procmgr.CauseRequest, hear(procmgr.EventExited).Process.EndedBy)
			break
		}
		require.Equal(t, "started exited revived exited", strings.Join(told, " "))
	}
}
