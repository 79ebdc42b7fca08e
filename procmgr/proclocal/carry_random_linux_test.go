package proclocal_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A schedule of starts, inputs, reads, signals and ends gives the same, whether or
// not its Local is saved and goes on after each step: the same text, offsets,
// codes, events and cursors.
func TestRandomSchedules(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	for n := range uint64(4) {
		testSchedule(t, seed+n, 30)
	}
}

// TestHeldRandomSchedules is a long TestRandomSchedules.
func TestHeldRandomSchedules(t *testing.T) {
	testenv.Held(t)
	seed := uint64(time.Now().UnixNano())
	for n := range uint64(testenv.Rounds(5, 60)) {
		testSchedule(t, seed+n, 80)
	}
}

// A step does something to a Local, and returns what a caller saw of it. The result
// does not depend on how long anything takes.
type step struct {
	what string
	do   func(t *testing.T, l *proclocal.Local) any
}

func testSchedule(t *testing.T, seed uint64, length int) {
	steps := schedule(rand.New(rand.NewPCG(seed, 1)), length)
	opts := &proclocal.Options{Head: 64, Tail: 64}
	plain, saved := newHolder(t), newHolder(t)
	oracle, l := newKept(t, opts, plain), newKept(t, opts, saved)
	random := rand.New(rand.NewPCG(seed, 2))
	var log []string
	defer func() {
		if t.Failed() {
			t.Logf("seed %d: %s", seed, strings.Join(log, "; "))
		}
	}()
	for _, s := range steps {
		log = append(log, s.what)
		want, got := s.do(t, oracle), s.do(t, l)
		require.Equal(t, want, got)
		if random.IntN(2) == 0 {
			log = append(log, "save")
			l = upgraded(t, l, opts, saved)
		}
	}
	var want, got []string
	eventually(t, "both have told the last line that matches", func() bool {
		want, got = told(t, oracle), told(t, l)
		return len(want) == len(got)
	})
	for i := range want {
		require.Equal(t, want[i], got[i])
	}
	require.NoError(t, oracle.Close())
	require.NoError(t, l.Close())
	require.Equal(t, plain.journalText(t), saved.journalText(t), "what the Keep was told")
}

// schedule returns random steps.
func schedule(random *rand.Rand, length int) (steps []step) {
	pieces := []string{"line\n", "half ", "10%\r20%", "\r", "\x1b[1m", "\x1b[", "€", "\xe2", "\x82\xac", strings.Repeat("x", 100) + "\n", "match me\n"}
	live := []string{} // with a stdin, in the order of their starts
	n := 0
	for len(steps) < length {
		chat := fmt.Sprintf("c%d", random.IntN(2))
		switch kind := random.IntN(10); {
		case kind < 2 || len(live) == 0:
			n++
			id, code := fmt.Sprintf("p%d", n), random.IntN(200)
			name := chat + "/" + id
			live = append(live, name)
			steps = append(steps, step{"start " + name, func(t *testing.T, l *proclocal.Local) any {
				out, err := l.Chat(chat).Start(t.Context(), procmgr.StartRequest{
					ID: id, Command: fmt.Sprintf("cat; exit %d", code), Stdin: procmgr.StdinPipe, Notify: "^match",
				})
				return seen(out, err)
			}})
		case kind < 3:
			n++
			id, code := fmt.Sprintf("p%d", n), random.IntN(200)
			steps = append(steps, step{"run " + chat + "/" + id, func(t *testing.T, l *proclocal.Local) any {
				out, err := l.Chat(chat).Start(t.Context(), procmgr.StartRequest{ID: id, Command: fmt.Sprintf("echo run; exit %d", code), Wait: long})
				return seen(out, err)
			}})
		case kind < 8:
			chat, id, _ := strings.Cut(live[random.IntN(len(live))], "/")
			piece, key := pieces[random.IntN(len(pieces))], fmt.Sprint("k", random.IntN(40))
			mark, from := fmt.Sprint("m", len(steps)), random.Int64N(200)
			steps = append(steps, step{fmt.Sprintf("input %s/%s %q", chat, id, piece), func(t *testing.T, l *proclocal.Local) any {
				return typeInto(t, l.Chat(chat), id, key, piece, mark, from)
			}})
		case kind < 9:
			i := random.IntN(len(live))
			chat, id, _ := strings.Cut(live[i], "/")
			live = append(live[:i], live[i+1:]...)
			if random.IntN(2) == 0 {
				steps = append(steps, step{"close " + chat + "/" + id, func(t *testing.T, l *proclocal.Local) any {
					_, err := l.Chat(chat).Input(t.Context(), id, procmgr.InputRequest{Close: true})
					if err != nil { // the ID was spent before it was started
						return err.Error()
					}
					return seen(ended(t, l.Chat(chat), id), nil)
				}})
			} else {
				steps = append(steps, step{"kill " + chat + "/" + id, func(t *testing.T, l *proclocal.Local) any {
					err := l.Chat(chat).Signal(t.Context(), id, procmgr.Kill)
					if err != nil { // the ID was spent before it was started
						return err.Error()
					}
					return seen(ended(t, l.Chat(chat), id), nil)
				}})
			}
		default:
			id := fmt.Sprintf("p%d", 1+random.IntN(n+2))
			steps = append(steps, step{"stop and ask " + chat + "/" + id, func(t *testing.T, l *proclocal.Local) any {
				out, err := l.Chat(chat).Output(t.Context(), id, procmgr.OutputRequest{})
				if err == nil {
					return seen(out, nil)
				}
				return fmt.Sprint(err, l.Chat(chat).Signal(t.Context(), id, procmgr.Kill))
			}})
		}
	}
	return steps
}

// typeInto writes to a process that prints what it reads, unless the key says that it
// has been written, and waits until a mark is printed after that.
func typeInto(t *testing.T, m procmgr.Manager, id, key, piece, mark string, from int64) any {
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	// What comes before the mark is the piece, also if it is held back.
	in, err := m.Input(ctx, id, procmgr.InputRequest{Key: key, Data: []byte(piece)})
	if err != nil {
		return err.Error()
	}
	after, err := m.Input(ctx, id, procmgr.InputRequest{Key: mark, Data: []byte("\n#" + mark + "\n"), Until: "^#" + mark + "$", Wait: long})
	require.NoError(t, err)
	require.True(t, after.Matched, "%+v", after)
	out, err := m.Output(ctx, id, procmgr.OutputRequest{From: from, Limit: headtail.Limits{Bytes: 150}})
	return []any{in.Written, after.Written, after.MatchedAt, seen(out, err)}
}

// seen returns what a caller sees of an answer, without what differs by chance.
func seen(out procmgr.Output, err error) string {
	p := &out.Process
	p.PID, p.StartedAt, p.ExitedAt, p.Usage = 0, time.Time{}, time.Time{}, procmgr.Usage{}
	p.Waiting, out.Waiting = nil, nil
	text, failed := json.Marshal(out)
	return fmt.Sprint(string(text), failed, err)
}

// told returns the events and the list of a Local, without what differs by chance.
// A line that matches is told just after it can be read, so that only the events of
// one process have an order. What a Kill ends may have a moment between the exit of
// the shell and that of the rest. A process that has printed a moment ago does not wait
// for input yet.
func told(t *testing.T, l *proclocal.Local) (all []string) {
	page, err := l.Events(t.Context(), procmgr.EventsRequest{Limit: -1})
	require.NoError(t, err)
	slices.SortStableFunc(page.Events, func(a, b procmgr.Event) int {
		return cmp.Or(cmp.Compare(a.Process.ChatID, b.Process.ChatID), cmp.Compare(a.Process.ID, b.Process.ID))
	})
	_, text, _ := strings.Cut(page.Next, ".")
	number := atoi(t, text)
	for _, e := range page.Events {
		if e.Kind == procmgr.EventDetached || e.Kind == procmgr.EventWaiting {
			number--
			continue
		}
		all = append(all, fmt.Sprint(e.Kind, e.Line, seen(procmgr.Output{Process: e.Process}, nil)))
	}
	list, err := l.List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	for _, p := range list.Processes {
		all = append(all, seen(procmgr.Output{Process: p}, nil))
	}
	return append(all, fmt.Sprint(number, page.Gap))
}

// journalText returns the states that the journal has at the end.
func (h *holder) journalText(t *testing.T) string {
	j := h.journal()
	var b strings.Builder
	for _, e := range j.Entries {
		var m struct {
			Process  procmgr.Process
			Total    int64
			Notified bool
			Spent    bool
		}
		require.NoError(t, json.Unmarshal(e.Record, &m))
		fmt.Fprintln(&b, e.Key, e.Started, m.Total, m.Notified, m.Spent, seen(procmgr.Output{Process: m.Process}, nil))
	}
	require.Empty(t, j.Files[1])
	for _, files := range j.Files {
		for _, f := range files {
			unix.Close(f.FD)
		}
	}
	return b.String()
}
