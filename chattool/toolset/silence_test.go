package toolset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// A poller reads a process without end, in the time of a bubble.
type poller struct {
	t        *testing.T
	set      *toolset.Set
	deadline time.Duration // of each read
}

// newPoller starts a process that prints each text, sleeps each duration and calls each
// function of steps.
func newPoller(t *testing.T, opts toolset.Options, steps ...any) *poller {
	t.Helper()
	host := proctest.NewScript()
	t.Cleanup(func() { require.NoError(t, host.Close()) })
	host.On("*", func(c *proctest.Command) int {
		for _, step := range steps {
			switch step := step.(type) {
			case string:
				fmt.Fprint(c, step)
			case time.Duration:
				c.Sleep(step)
			case func(*proctest.Command):
				step(c)
			}
		}
		return 0
	})
	chat := host.Chat("a")
	_, err := chat.Start(t.Context(), procmgr.StartRequest{ID: "p1", Command: "make"})
	require.NoError(t, err)
	synctest.Wait()
	return &poller{t, newSet(toolset.Static(chat), &opts), day}
}

const day = 24 * time.Hour

func (r *poller) read(pairs ...any) (res toolset.Result, took time.Duration) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), r.deadline)
	defer cancel()
	began := time.Now()
	res = r.set.Call(ctx, toolset.Call{Name: "process_output", Arguments: json.RawMessage(arguments(r.t, append([]any{"process_id", "p1"}, pairs...)...))})
	return res, time.Since(began)
}

func TestNothingNew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newPoller(t, toolset.Options{Format: toolset.FormatText}, "compiling\n", day)
		first, _ := r.read("wait_timeout", "10s")
		require.Contains(t, first.Content, "compiling")
		for range 2 { // the first two that show nothing new
			res, took := r.read("since", 10, "wait_timeout", "10s")
			require.Equal(t, 10*time.Second, took)
			require.NotContains(t, res.Content, "nothing new")
		}
		for _, lasts := range []string{"30s", "40s"} {
			res, took := r.read("since", 10, "wait_timeout", "10s")
			require.Equal(t, 10*time.Second, took)
			require.Equal(t, "still running, nothing new for "+lasts+" · process p1 · next_offset 10"+
				" · to wait in one call, set wait_for or a wait_timeout up to 4h", res.Content)
			require.Nil(t, res.Report.Output)
			require.True(t, res.Report.Success)
			require.Equal(t, lasts, res.Report.Quiet.String())
		}
		for range 3 { // the fifth, and more
			res, took := r.read("since", 10, "wait_timeout", "10s")
			require.Equal(t, 30*time.Second, took)
			require.Contains(t, res.Content, "This read waited 30s, longer than asked for")
			require.Contains(t, res.Content, "each costs the whole conversation once more")
			require.NotContains(t, res.Content, "\n")
		}
		_, took := r.read("since", 10, "wait_timeout", "1m")
		require.Equal(t, time.Minute, took, "it is asked for more")
		_, took = r.read("since", 10, "wait_timeout", "0s")
		require.Equal(t, 30*time.Second, took)
		r.set.Forget("")
		res, _ := r.read("wait_timeout", "1s")
		require.Equal(t, "compiling\n", *res.Report.Output)
	})
}

func TestNothingNewFromTheBeginning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newPoller(t, toolset.Options{}, "compiling\n", func(c *proctest.Command) { fmt.Fprint(c, "10 %\r50 %") }, day)
		for i := range 4 {
			res, _ := r.read("wait_timeout", "1s")
			require.Equal(t, i < 3, res.Report.Output != nil, "%d: %s", i, res.Content)
		}
		// Text that the reads before did not show is none of them.
		r.read("since", 10, "wait_timeout", "1s")
		res, _ := r.read("since", 2, "wait_timeout", "1s")
		require.Contains(t, res.Content, "mpiling")
		contents(t, res)
	})
}

// Whatever happens ends the longer wait at once, and the row.
func TestLongerReadEnds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		steps []any
		opts  toolset.Options
		pairs []any
		has   string
		took  time.Duration
	}{
		"a deadline":          {steps: []any{"a\n", day}, has: "process p1 was left alone", took: 5 * time.Second},
		"output":              {steps: []any{"a\n", 14 * time.Second, "news\n", day}, has: "news", took: 9 * time.Second},
		"the end":             {steps: []any{"a\n", 17 * time.Second}, has: "exit code 0", took: 12 * time.Second},
		"a line of wait_for":  {steps: []any{"a\n", 14 * time.Second, "ready\n", day}, pairs: []any{"wait_for", "ready"}, has: "wait_for matched", took: 9 * time.Second},
		"within its own time": {steps: []any{"a\n", 5500 * time.Millisecond, "news\n", day}, has: "news", took: time.Second},
		"MaxTimeout":          {steps: []any{"a\n", day}, opts: toolset.Options{MaxTimeout: 20 * time.Second}, has: "waited 20s", took: 20 * time.Second},
		"Whole":               {steps: []any{"a\n", day}, opts: toolset.Options{Whole: true}, has: "running", took: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tt.opts.Format = toolset.FormatText
				r := newPoller(t, tt.opts, tt.steps...)
				r.read("wait_timeout", "1s")
				for range 4 {
					r.read("since", 2, "wait_timeout", "1s")
				}
				if name == "a deadline" {
					r.deadline = tt.took
				}
				res, took := r.read(append([]any{"since", 2, "wait_timeout", "1s"}, tt.pairs...)...)
				require.Contains(t, res.Content, tt.has)
				require.Equal(t, tt.took, took, res.Content)
				if strings.Contains(tt.has, "news") || strings.Contains(tt.has, "match") {
					require.NotContains(t, res.Content, "nothing new for")
					require.Equal(t, took > time.Second, strings.Contains(res.Content, "longer than asked for"), res.Content)
				}
			})
		})
	}
}

// The pages quote this number.
func TestPollsOfAnHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newPoller(t, toolset.Options{}, time.Hour)
		reads := 0
		for began := time.Now(); time.Since(began) < time.Hour; reads++ {
			r.read("wait_timeout", "1s")
		}
		require.Equal(t, 124, reads)
	})
}
