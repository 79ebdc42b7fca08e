package toolset_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// A streamed is one call of OnOutput.
type streamed struct {
	ctx   context.Context
	call  toolset.Call
	chunk procmgr.Chunk
}

// streaming returns options that send each chunk to a channel, and the function that
// takes all chunks of a process from it, whose output ends with end.
func streaming() (*toolset.Options, chan streamed, func(end string) (text string, last streamed)) {
	chunks := make(chan streamed)
	opts := &toolset.Options{OnOutput: func(ctx context.Context, c toolset.Call, chunk procmgr.Chunk) {
		select {
		case chunks <- streamed{ctx, c, chunk}:
		case <-ctx.Done():
		}
	}}
	return opts, chunks, func(end string) (text string, last streamed) {
		for last.chunk.Process.State != procmgr.Exited || !strings.HasSuffix(text, end) {
			last = <-chunks
			text += last.chunk.Text
		}
		return text, last
	}
}

func TestOnOutput(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the commands are a POSIX shell's")
	}
	m := newHost(t, nil).Chat("a")
	run := func(set *toolset.Set, id, arguments string) toolset.Result {
		return set.Call(context.WithValue(t.Context(), chatKey{}, "value"), toolset.Call{ID: id, Name: "execute", Arguments: []byte(arguments)})
	}
	t.Run("all of it in order, however slowly it is taken", func(t *testing.T) {
		opts, _, all := streaming()
		set := newSet(toolset.Static(m), opts)
		res := run(set, "1", `{"command":"seq 5000; exit 3","timeout":"1m"}`) // it ends although no chunk is taken
		require.Equal(t, 3, *res.Report.ExitCode)
		text, last := all("\n4999\n5000\n")
		require.True(t, strings.HasPrefix(text, "1\n2\n3\n"))
		require.Equal(t, 5000, strings.Count(text, "\n"))
		require.Equal(t, "1", last.call.ID)
		require.Equal(t, "value", last.ctx.Value(chatKey{}))
		require.NoError(t, set.Close())
	})
	t.Run("before the end of the call", func(t *testing.T) {
		opts, chunks, all := streaming()
		opts.DefaultTimeout = time.Minute
		set := newSet(toolset.Static(m), opts)
		go run(set, "1", `{"command":"echo ready; sleep 1000"}`)
		first := <-chunks
		for first.chunk.Text == "" {
			first = <-chunks
		}
		require.Equal(t, "ready\n", first.chunk.Text)
		require.NoError(t, m.Signal(t.Context(), first.chunk.Process.ID, procmgr.Kill))
		all("")
	})
	t.Run("none of an earlier call's process", func(t *testing.T) {
		opts, _, all := streaming()
		opts.ProcessID = func(context.Context, toolset.Call) string { return "once" }
		set := newSet(toolset.Static(m), opts)
		run(set, "1", `{"command":"echo once"}`)
		all("once\n")
		require.Equal(t, "once", run(set, "2", `{"command":"echo once"}`).Output.Process.ID)
		opts.OnOutput = func(context.Context, toolset.Call, procmgr.Chunk) {
			t.Error("a chunk of a process that another call has started")
		}
		later := newSet(toolset.Static(m), opts)
		require.True(t, run(later, "3", `{"command":"echo once"}`).Output.Attached)
		require.NoError(t, later.Close())
	})
	t.Run("after a panic of another", func(t *testing.T) {
		opts, _, all := streaming()
		send := opts.OnOutput
		opts.OnOutput = func(ctx context.Context, c toolset.Call, chunk procmgr.Chunk) {
			if c.ID == "bad" {
				panic("ouch")
			}
			send(ctx, c, chunk)
		}
		set := newSet(toolset.Static(m), opts)
		require.True(t, run(set, "bad", `{"command":"echo bad"}`).Report.Success)
		run(set, "good", `{"command":"echo good"}`)
		text, _ := all("good\n")
		require.Equal(t, "good\n", text)
	})
	t.Run("until Close", func(t *testing.T) {
		opts, chunks, _ := streaming()
		set := newSet(toolset.Static(m), opts)
		id := run(set, "1", `{"command":"echo ready; sleep 1000","run_in_background":true}`).Report.ProcessID
		first := <-chunks
		require.NoError(t, set.Close())
		require.Error(t, first.ctx.Err())
		require.NoError(t, set.Close())
		require.True(t, run(set, "2", `{"command":"echo on"}`).Report.Success, "without chunks")
		out, err := m.Output(t.Context(), id, procmgr.OutputRequest{})
		require.NoError(t, err)
		require.Equal(t, procmgr.Running, out.Process.State)
	})
}

// A failed read is tried again, and reading on that always fails is given up.
func TestOnOutputFailing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		err   error
		times int
		reads int
		want  string
	}{
		{"once", errors.New("no route"), 1, 3, "onetwo"},
		{"always", errors.New("no route"), 1 << 20, 6, "one"},
		{"for good", procmgr.ErrNotFound, 1 << 20, 2, "one"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reads, text := 0, ""
				m := &fake{start: answerStart(running("p1", "one"))}
				m.output = func(_ context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
					switch reads++; {
					case reads == 1:
						return running(id, "one"), nil
					case reads <= 1+tt.times:
						return procmgr.Output{}, tt.err
					}
					out := exited(id, 0, "two")
					out.Next = 6
					return out, nil
				}
				set := newSet(toolset.Static(m), &toolset.Options{DefaultTimeout: -1, OnOutput: func(_ context.Context, _ toolset.Call, chunk procmgr.Chunk) { text += chunk.Text }})
				set.Call(t.Context(), toolset.Call{Name: "execute", Arguments: []byte(`{"command":"x"}`)})
				synctest.Wait()
				time.Sleep(time.Minute)
				synctest.Wait()
				require.Equal(t, tt.want, text)
				require.Equal(t, tt.reads, reads)
				require.NoError(t, set.Close())
			})
		})
	}
}

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
