package proclocal_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// While processes start, end and are forgotten, a list has each one at most
// once, in the order of the starts, and none that the caller has not begun. It
// has each that has started and not ended, and agrees with the state that
// another call has told.
func TestListDuringStartsAndEnds(t *testing.T) {
	const workers, each = 4, 25
	l := newLocal(t, &proclocal.Options{Retain: 1})
	over := make(chan struct{})
	var running, lister sync.WaitGroup
	for range 2 {
		lister.Go(func() {
			for {
				all, err := l.List(t.Context())
				if !assert.NoError(t, err) {
					return
				}
				seen := make(map[string]bool)
				for _, p := range all {
					assert.False(t, seen[p.ID], "%s is there twice", p.ID)
					seen[p.ID] = true
					assert.NotEmpty(t, p.State)
					assert.Equal(t, p.State == procmgr.Exited, !p.ExitedAt.IsZero())
				}
				select {
				case <-over:
					return
				default:
				}
			}
		})
	}
	has := func(m procmgr.Manager, id string) *procmgr.Process {
		all, err := m.List(t.Context())
		assert.NoError(t, err)
		if i := slices.IndexFunc(all, func(p procmgr.Process) bool { return p.ID == id }); i >= 0 {
			return &all[i]
		}
		return nil
	}
	for w := range workers {
		running.Go(func() {
			m := l.Chat(fmt.Sprint("chat ", w))
			for range each {
				out, err := m.Start(t.Context(), procmgr.StartRequest{Command: "exec sleep 60"})
				if !assert.NoError(t, err) {
					return
				}
				id := out.Process.ID
				for _, view := range []procmgr.Manager{m, l} {
					if p := has(view, id); assert.NotNil(t, p) {
						assert.Equal(t, procmgr.Running, p.State)
					}
				}
				assert.NoError(t, m.Signal(t.Context(), id, procmgr.Kill))
				for _, view := range []procmgr.Manager{m, l} {
					if p := has(view, id); p != nil { // or it is forgotten
						assert.Equal(t, procmgr.Exited, p.State)
					}
				}
			}
		})
	}
	running.Wait()
	close(over)
	lister.Wait()
}

// Each chat has its own list, in the order of the starts.
func TestListInOrder(t *testing.T) {
	l := newLocal(t, nil)
	var ids []string
	for range 5 {
		ids = append(ids, run(t, l.Chat("a"), "true").Process.ID)
		run(t, l.Chat("b"), "true")
	}
	for view, want := range map[procmgr.Manager]int{l.Chat("a"): 5, l: 10, l.Chat("c"): 0} {
		all, err := view.List(t.Context())
		require.NoError(t, err)
		require.Len(t, all, want)
		require.True(t, slices.IsSortedFunc(all, func(a, b procmgr.Process) int { return a.StartedAt.Compare(b.StartedAt) }))
	}
	all, err := l.Chat("a").List(t.Context())
	require.NoError(t, err)
	for i, p := range all {
		require.Equal(t, ids[i], p.ID)
	}
}

// A Manager that lists only everything is asked for everything.
func TestListSome(t *testing.T) {
	l := newLocal(t, nil)
	for i := range 6 {
		_, err := l.Start(t.Context(), procmgr.StartRequest{Command: "true", Background: i%2 == 0, Wait: long})
		require.NoError(t, err)
	}
	for _, req := range []procmgr.ListRequest{{}, {Limit: 2}, {Offset: 2, Limit: 2}, {Offset: 9}, {State: procmgr.Exited, Limit: 3}, {State: procmgr.Running}} {
		want, err := l.ListSome(t.Context(), req)
		require.NoError(t, err)
		for _, m := range []procmgr.Manager{l, opaque{l}, open{l}} {
			got, err := procmgr.ListSome(t.Context(), m, req)
			require.NoError(t, err)
			require.Equal(t, want.Total, got.Total)
			require.Equal(t, want.Live, got.Live)
			require.ElementsMatch(t, want.Processes, got.Processes)
		}
	}
	_, err := procmgr.ListSome(t.Context(), l.Chat(""), procmgr.ListRequest{})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
}
