package procmgr_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

// While processes start, end and are forgotten, a list has each one at most
// once, in the order of the starts, and none that the caller has not begun. It
// has each that has started and not ended, and agrees with the state that
// another call has told.
func TestListDuringStartsAndEnds(t *testing.T) {
	const workers, each = 4, 25
	l := newLocal(t, &procmgr.Options{Retain: 1})
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
