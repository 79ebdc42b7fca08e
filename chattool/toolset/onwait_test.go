package toolset_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// A waiter records the waits of its requests, and fails from a time on.
type waiter struct {
	procmgr.Manager
	fails time.Time // zero for never
	waits []time.Duration
}

func (w *waiter) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	if w.waits = append(w.waits, req.Wait); !w.fails.IsZero() && time.Now().After(w.fails) {
		return procmgr.Output{}, errors.New("no route")
	}
	return w.Manager.Output(ctx, id, req)
}

func TestOnWait(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		calls  []string // of execute, and then of process_output
		panics bool
		silent bool // there is no OnWait
		gone   time.Duration
		want   []time.Duration
		waits  []time.Duration
	}{
		{name: "to the end", calls: []string{`{"command":"work","timeout":"1m"}`},
			want: []time.Duration{10, 20, 30}, waits: []time.Duration{10, 10, 10, 10}},
		{name: "to a timeout", calls: []string{`{"command":"work","timeout":"25s"}`},
			want: []time.Duration{10, 20}, waits: []time.Duration{10, 10, 5}},
		{name: "a read", calls: []string{`{"command":"work","timeout":"1s"}`, `{"process_id":"p1","wait_timeout":"1m"}`},
			want: []time.Duration{10, 20, 30}, waits: []time.Duration{1, 10, 10, 10, 10}},
		{name: "a match", calls: []string{`{"command":"work","timeout":"1s"}`, `{"process_id":"p1","wait_for":"half","wait_timeout":"1m"}`},
			want: []time.Duration{10}, waits: []time.Duration{1, 10, 10}},
		{name: "in pieces only with it", calls: []string{`{"command":"work","timeout":"1s"}`, `{"process_id":"p1","wait_timeout":"1m"}`},
			silent: true, waits: []time.Duration{60}},
		{name: "a panic", calls: []string{`{"command":"work","timeout":"1m"}`}, panics: true,
			want: []time.Duration{10, 20, 30}, waits: []time.Duration{10, 10, 10, 10}},
		{name: "not once the machine is gone", calls: []string{`{"command":"work","timeout":"1m"}`}, gone: 5 * time.Second,
			want: []time.Duration{10}, waits: []time.Duration{10, 10, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				host := proctest.NewScript()
				defer func() { require.NoError(t, host.Close()) }()
				host.On("work", func(c *proctest.Command) int {
					c.Sleep(18 * time.Second)
					_, _ = c.Write([]byte("half\n"))
					c.Sleep(17 * time.Second)
					return 0
				})
				m := &waiter{Manager: host.Chat("a")}
				if tt.gone > 0 {
					m.fails = time.Now().Add(tt.gone)
				}
				var got []time.Duration
				opts := fixed()
				if !tt.silent {
					opts.OnWait = func(_ context.Context, _ toolset.Call, p procmgr.Process, waited time.Duration) {
						require.Equal(t, "p1", p.ID)
						require.Equal(t, procmgr.Running, p.State)
						got = append(got, waited/time.Second)
						if tt.panics {
							panic("ouch")
						}
					}
				}
				set := newSet(toolset.Static(m), opts)
				for i, arguments := range tt.calls {
					set.Call(t.Context(), toolset.Call{Name: []string{"execute", "process_output"}[i], Arguments: []byte(arguments)})
				}
				for i := range m.waits {
					m.waits[i] /= time.Second
				}
				require.Equal(t, tt.want, got)
				require.Equal(t, tt.waits, m.waits)
			})
		})
	}
}
