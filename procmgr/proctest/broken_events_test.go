package proctest_test

import (
	"context"
	"strings"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// asks is the fault of asking for other events than the caller.
func asks(f func(req *procmgr.EventsRequest)) fault {
	return fault{events: func(ctx context.Context, m procmgr.Manager, req procmgr.EventsRequest) (procmgr.EventPage, error) {
		f(&req)
		return m.Events(ctx, req)
	}}
}

// recounts is the fault of telling other events than those that there were.
func recounts(f func(page *procmgr.EventPage)) func(*proclocal.Local) fault {
	return always(fault{events: func(ctx context.Context, m procmgr.Manager, req procmgr.EventsRequest) (procmgr.EventPage, error) {
		page, err := m.Events(ctx, req)
		f(&page)
		return page, err
	}})
}

// keeps is the fault of telling only some of the events.
func keeps(f func(e procmgr.Event) bool) func(*proclocal.Local) fault {
	return recounts(func(page *procmgr.EventPage) {
		var kept []procmgr.Event
		for _, e := range page.Events {
			if f(e) {
				kept = append(kept, e)
			}
		}
		page.Events = kept
	})
}

var brokenEvents = []brokenHost{
	{name: "tells no starts", fails: []string{"events/each start and end"}, fault: keeps(func(e procmgr.Event) bool { return e.Kind != procmgr.EventStarted })},
	{name: "tells nothing between start and end", fails: []string{"events/detached", "events/notify"}, fault: keeps(func(e procmgr.Event) bool {
		return e.Kind != procmgr.EventDetached && e.Kind != procmgr.EventMatched
	})},
	{name: "tells each process as it is now", fails: []string{"events/each start and end"}, fault: always(fault{
		events: func(ctx context.Context, m procmgr.Manager, req procmgr.EventsRequest) (procmgr.EventPage, error) {
			page, err := m.Events(ctx, req)
			for i, e := range page.Events {
				if out, err := m.Output(ctx, e.Process.ID, procmgr.OutputRequest{}); err == nil {
					page.Events[i].Process = out.Process
				}
			}
			return page, err
		},
	})},
	{name: "tells the newest first", fails: []string{"events/each start and end", "events/place by place"}, fault: recounts(func(page *procmgr.EventPage) {
		for i, j := 0, len(page.Events)-1; i < j; i, j = i+1, j-1 {
			page.Events[i], page.Events[j] = page.Events[j], page.Events[i]
		}
	})},
	{name: "tells each event once", fails: []string{"events/place by place"}, fault: func(*proclocal.Local) fault {
		told := newMemory()
		return fault{events: func(ctx context.Context, m procmgr.Manager, req procmgr.EventsRequest) (procmgr.EventPage, error) {
			page, err := m.Events(ctx, req)
			var kept []procmgr.Event
			for _, e := range page.Events {
				if !told.knows(e.Process.ID + string(e.Kind)) {
					kept = append(kept, e)
				}
			}
			page.Events = kept
			return page, err
		}}
	}},
	{name: "tells everything each time", fails: []string{"events/place by place"}, fault: always(asks(func(req *procmgr.EventsRequest) { req.After = "" }))},
	{name: "has pages of any length", fails: []string{"events/place by place"}, fault: always(asks(func(req *procmgr.EventsRequest) { req.Limit = 0 }))},
	{name: "begins at the beginning instead of now", fails: []string{"events/latest"}, fault: always(asks(func(req *procmgr.EventsRequest) { req.Latest = false }))},
	{name: "does not wait for events", fails: []string{"events/wait"}, fault: always(asks(func(req *procmgr.EventsRequest) { req.Wait = 0 }))},
	{name: "waits for events of others", fails: []string{"events/wait"}, fault: func(l *proclocal.Local) fault {
		return fault{events: func(ctx context.Context, m procmgr.Manager, req procmgr.EventsRequest) (procmgr.EventPage, error) {
			if _, err := l.Events(ctx, req); err != nil {
				return procmgr.EventPage{}, err
			}
			req.Wait = 0
			return m.Events(ctx, req)
		}}
	}},
	{name: "tells an end before it is there", fails: []string{"events/agree with List"}, fault: func(*proclocal.Local) fault {
		f := tells(func(p *procmgr.Process) {
			if p.State == procmgr.Exited && time.Since(p.ExitedAt) < time.Second {
				p.State = procmgr.Running
			}
		})
		return f
	}},
	{name: "tells every chat the events of all", fails: []string{"events/of one chat"}, fault: func(l *proclocal.Local) fault {
		return fault{events: func(ctx context.Context, _ procmgr.Manager, req procmgr.EventsRequest) (procmgr.EventPage, error) {
			return l.Events(ctx, req)
		}}
	}},
	{name: "never says that there is a gap", fails: []string{"events/gap"}, fault: recounts(func(page *procmgr.EventPage) { page.Gap = false })},
	{name: "says again and again that there is a gap", fails: []string{"events/gap"}, fault: func(*proclocal.Local) fault {
		gaps := newMemory()
		return fault{events: func(ctx context.Context, m procmgr.Manager, req procmgr.EventsRequest) (procmgr.EventPage, error) {
			page, err := m.Events(ctx, req)
			page.Gap = page.Gap || gaps.has(req.After)
			if page.Gap {
				gaps.knows(page.Next)
			}
			return page, err
		}}
	}},
	{name: "tells only a part of the line", fails: []string{"events/notify", "events/notify refused"}, fault: recounts(func(page *procmgr.EventPage) {
		for i := range page.Events {
			page.Events[i].Line = strings.TrimRight(page.Events[i].Line, "1a ")
		}
	})},
	{name: "takes any Notify", fails: []string{"events/notify refused"}, fault: always(starts(func(req *procmgr.StartRequest) {
		if len(req.Notify) > 1 {
			req.Notify = ""
		}
	}))},
	{name: "takes another Notify for another command", fails: []string{"events/notify refused"}, fault: always(starts(func(req *procmgr.StartRequest) {
		req.Command += " # " + req.Notify
	}))},
	{name: "redraws without a word", fails: []string{"output/a line redrawn"}, fault: always(reports(func(out *procmgr.Output) { out.LiveBytes = 0 }))},
	{name: "follows behind the live line", fails: []string{"follow/whole", "follow/from an offset"}, fault: always(reads(func(req *procmgr.OutputRequest) {
		if req.From > 0 {
			req.From++
		}
	}))},
	{name: "forgets the state that the caller knows", slow: true, fails: []string{"wait/state"}, fault: always(reads(func(req *procmgr.OutputRequest) { req.State = "" }))},
	{name: "tells no state but running and exited", slow: true, fails: []string{"follow/as it comes"}, fault: always(tells(func(p *procmgr.Process) {
		if p.State == procmgr.Detached {
			p.State = procmgr.Running
		}
	}))},
}
