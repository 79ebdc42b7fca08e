package toolset_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
)

// A quiet is a process that has printed a text, and prints more or ends at a time.
type quiet struct {
	began  time.Time
	prints map[time.Duration]string
	ends   time.Duration
	live   string
}

func (q *quiet) now() procmgr.Output {
	out := running("p1", "")
	out.Process.StartedAt, out.Process.Elapsed, out.Process.Command = q.began, time.Since(q.began), "make"
	since := time.Since(q.began)
	for at := time.Duration(0); at <= since; at += time.Second {
		out.Text += q.prints[at]
	}
	out.Next = int64(len(out.Text))
	out.Text += q.live
	out.Live = q.live
	if q.ends > 0 && since >= q.ends {
		out.Process.State, out.Process.EndedBy, out.Process.ExitedAt, out.Process.ExitCode = procmgr.Exited, procmgr.CauseExit, q.began.Add(q.ends), new(int)
	}
	return out
}

// output waits as a manager does, and looks each second.
func (q *quiet) output(ctx context.Context, _ string, req procmgr.OutputRequest) (procmgr.Output, error) {
	first, began := q.now(), time.Now()
	for {
		out := q.now()
		news := out.Next > req.From || out.Text[out.Next:] != first.Text[first.Next:]
		out.Matched = req.Until == "." && news || req.Until != "" && req.Until != "." && strings.Contains(out.Text[min(req.From, out.Next):], req.Until)
		if out.Matched || out.Process.State == procmgr.Exited || time.Since(began) >= req.Wait {
			out.Text = out.Text[min(req.From, out.Next):]
			return out, nil
		}
		select {
		case <-ctx.Done():
			out.Text = out.Text[min(req.From, out.Next):]
			return out, ctx.Err()
		case <-time.After(min(time.Second, req.Wait-time.Since(began))):
		}
	}
}

type poller struct {
	t   *testing.T
	m   *fake
	set *toolset.Set
}

func newPoller(t *testing.T, q *quiet, opts toolset.Options) *poller {
	q.began = time.Now()
	m := &fake{output: q.output}
	return &poller{t, m, newSet(toolset.Static(m), &opts)}
}

func (r *poller) read(pairs ...any) (res toolset.Result, took time.Duration) {
	r.t.Helper()
	return r.readIn(context.Background(), pairs...)
}

func (r *poller) readIn(ctx context.Context, pairs ...any) (res toolset.Result, took time.Duration) {
	r.t.Helper()
	began := time.Now()
	res = r.set.Call(ctx, toolset.Call{Name: "process_output", Arguments: json.RawMessage(arguments(r.t, append([]any{"process_id", "p1"}, pairs...)...))})
	return res, time.Since(began)
}

func TestNothingNew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newPoller(t, &quiet{prints: map[time.Duration]string{0: "compiling\n"}}, toolset.Options{Format: toolset.FormatText})
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
	})
}

func TestNothingNewFromTheBeginning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newPoller(t, &quiet{prints: map[time.Duration]string{0: "compiling\n"}, live: "50 %"}, toolset.Options{})
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
		q     quiet
		opts  toolset.Options
		pairs []any
		has   string
		took  time.Duration
	}{
		"output":              {q: quiet{prints: map[time.Duration]string{0: "a\n", 14 * time.Second: "news\n"}}, has: "news", took: 9 * time.Second},
		"the end":             {q: quiet{prints: map[time.Duration]string{0: "a\n"}, ends: 17 * time.Second}, has: "exit code 0", took: 12 * time.Second},
		"a line of wait_for":  {q: quiet{prints: map[time.Duration]string{0: "a\n", 14 * time.Second: "ready\n"}}, pairs: []any{"wait_for", "ready"}, has: "wait_for matched", took: 9 * time.Second},
		"within its own time": {q: quiet{prints: map[time.Duration]string{0: "a\n", 6 * time.Second: "news\n"}}, has: "news", took: time.Second},
		"MaxTimeout":          {q: quiet{prints: map[time.Duration]string{0: "a\n"}}, opts: toolset.Options{MaxTimeout: 20 * time.Second}, has: "waited 20s", took: 20 * time.Second},
		"Whole":               {q: quiet{prints: map[time.Duration]string{0: "a\n"}}, opts: toolset.Options{Whole: true}, has: "running", took: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tt.opts.Format = toolset.FormatText
				r := newPoller(t, &tt.q, tt.opts)
				r.read("wait_timeout", "1s")
				for range 4 {
					r.read("since", 2, "wait_timeout", "1s")
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

func TestLongerReadIsCanceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newPoller(t, &quiet{prints: map[time.Duration]string{0: "a\n"}}, toolset.Options{})
		for range 5 {
			r.read("since", 2, "wait_timeout", "1s")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		res, took := r.readIn(ctx, "since", 2, "wait_timeout", "1s")
		require.Equal(t, 5*time.Second, took)
		require.Contains(t, res.Content, "was left alone")
		require.False(t, res.IsError)
	})
}

func TestNothingNewIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newPoller(t, &quiet{prints: map[time.Duration]string{0: "a\n"}}, toolset.Options{})
		for range 4 {
			r.read("wait_timeout", "1s")
		}
		r.set.Forget()
		res, _ := r.read("wait_timeout", "1s")
		require.NotNil(t, res.Report.Output)
		require.Equal(t, "a\n", *res.Report.Output)
	})
}

// The pages quote this number.
func TestPollsOfAnHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newPoller(t, &quiet{ends: time.Hour}, toolset.Options{})
		reads := 0
		for began := time.Now(); time.Since(began) < time.Hour; reads++ {
			r.read("wait_timeout", "1s")
		}
		require.Equal(t, 124, reads)
	})
}
