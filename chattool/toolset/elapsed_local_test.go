package toolset_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A far manager runs processes on a machine whose clock is off.
type far struct {
	procmgr.Manager
	off time.Duration
}

func (m *far) shift(p *procmgr.Process) {
	for _, at := range []*time.Time{&p.StartedAt, &p.ExitedAt} {
		if !at.IsZero() {
			*at = at.Add(m.off)
		}
	}
}

func (m *far) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	out, err := m.Manager.Start(ctx, req)
	m.shift(&out.Process)
	return out, err
}

func (m *far) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	out, err := m.Manager.Output(ctx, id, req)
	m.shift(&out.Process)
	return out, err
}

func (m *far) List(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	page, err := m.Manager.List(ctx, req)
	for i := range page.Processes {
		m.shift(&page.Processes[i])
	}
	return page, err
}

func (m *far) Events(ctx context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	page, err := m.Manager.Events(ctx, req)
	for i := range page.Events {
		m.shift(&page.Events[i].Process)
		page.Events[i].At = page.Events[i].At.Add(m.off)
	}
	return page, err
}

// What a model reads of how long a process runs or ran is right whatever the clock of its
// machine says.
func TestElapsedOnAnotherClock(t *testing.T) {
	host := newHost(t, &proclocal.Options{})
	for name, off := range map[string]time.Duration{"late": -10 * time.Minute, "early": 10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			m := &far{host.Chat(name), off}
			set := newSet(toolset.Static(m), &toolset.Options{Format: toolset.FormatText})
			right := func(what string, took time.Duration) {
				t.Helper()
				require.Positive(t, took, what)
				require.LessOrEqual(t, took, time.Since(began), what)
			}
			right("execute", say(t, set, "execute", `{"command":"sleep 0.1"}`).Report.Duration)
			running := say(t, set, "execute", `{"command":"exec sleep 600","timeout":"1s"}`).Report
			right("execute that still runs", running.Duration)
			id := running.ProcessID
			res := say(t, set, "process_output", `{"process_id":"`+id+`","wait_timeout":"0s"}`)
			require.False(t, res.IsError, res.Content)
			right("process_output", res.Report.Duration)
			list := say(t, set, "process_list", `{}`).Content
			require.Regexp(t, id+`  running  \d+s  `, list)
			require.NotRegexp(t, `  \d+m  `, list)

			require.NoError(t, m.Signal(t.Context(), id, procmgr.Kill))
			var told string
			require.Eventually(t, func() bool {
				if all := say(t, set, "process_output", nothing).Report.Meanwhile; len(all) > 0 {
					told = all[0]
				}
				return told != ""
			}, time.Minute, 10*time.Millisecond)
			require.Regexp(t, `\(exit code 137\) after [\d.]+m?s$`, told)
		})
	}
}
