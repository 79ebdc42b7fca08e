package proclocal_test

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// While processes start, end and are forgotten, a list has each one at most
// once, those that live first, and none that the caller has not begun. It
// has each that has started and not ended, and agrees with the state that
// another call has told.
func TestListDuringStartsAndEnds(t *testing.T) {
	const workers, each = 4, 25
	stdin := procmgr.StdinPipe // a list tells whether it waits for input
	if runtime.GOOS == "windows" {
		stdin = procmgr.StdinEmpty
	}
	l := newLocal(t, &proclocal.Options{Retain: 1})
	over := make(chan struct{})
	var running, lister sync.WaitGroup
	for range 2 {
		lister.Go(func() {
			for {
				page, err := l.List(t.Context(), procmgr.ListRequest{})
				all := page.Processes
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
		page, err := m.List(t.Context(), procmgr.ListRequest{})
		all := page.Processes
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
				out, err := m.Start(t.Context(), procmgr.StartRequest{Command: "exec sleep 60", Stdin: stdin})
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

// Each chat has its own list, the newest start first among those that have ended.
func TestListInOrder(t *testing.T) {
	l := newLocal(t, nil)
	var ids []string // the newest first
	for range 5 {
		ids = append([]string{run(t, l.Chat("a"), "true").Process.ID}, ids...)
		run(t, l.Chat("b"), "true")
	}
	for view, want := range map[procmgr.Manager]int{l.Chat("a"): 5, l: 10, l.Chat("c"): 0} {
		page, err := view.List(t.Context(), procmgr.ListRequest{})
		require.NoError(t, err)
		require.Len(t, page.Processes, want)
		require.True(t, slices.IsSortedFunc(page.Processes, func(a, b procmgr.Process) int { return b.StartedAt.Compare(a.StartedAt) }))
	}
	page, err := l.Chat("a").List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	for i, p := range page.Processes {
		require.Equal(t, ids[i], p.ID)
	}
}

// A Local picks a page without a copy of all, and [procmgr.PageOf] makes one of
// all. Both have the same rules.
func TestListIsPageOf(t *testing.T) {
	l := newLocal(t, nil)
	for i := range 8 {
		req := procmgr.StartRequest{Command: "true", Background: i%2 == 0, Wait: long}
		if i > 5 {
			req = procmgr.StartRequest{Command: "exec sleep 600"}
		}
		_, err := l.Chat("a").Start(t.Context(), req)
		require.NoError(t, err)
	}
	all := inOrder(t, l)
	require.Len(t, all, 8)
	for _, req := range []procmgr.ListRequest{
		{}, {Limit: 2}, {Offset: 2, Limit: 2}, {Offset: 9}, {Offset: math.MaxInt, Limit: math.MaxInt},
		{State: procmgr.Exited, Limit: 3}, {State: procmgr.Running}, {State: procmgr.Detached}, {State: procmgr.Exited, Offset: 4, Limit: -1},
	} {
		want, err := procmgr.PageOf(all, req)
		require.NoError(t, err)
		for _, m := range []procmgr.Manager{l, l.Chat("a")} {
			got, err := m.List(t.Context(), req)
			require.NoError(t, err)
			require.Equal(t, want.Total, got.Total, "%+v", req)
			require.Equal(t, want.Live, got.Live, "%+v", req)
			require.Len(t, got.Processes, len(want.Processes), "%+v", req)
			for i := range got.Processes {
				require.Equal(t, want.Processes[i].ID, got.Processes[i].ID, "%+v", req)
			}
		}
	}
	for _, req := range []procmgr.ListRequest{{State: "asleep"}, {Offset: -1}} {
		_, want := procmgr.PageOf(nil, req)
		_, err := l.List(t.Context(), req)
		require.ErrorIs(t, err, procmgr.ErrInvalid)
		require.Equal(t, procmgr.Reason(want), procmgr.Reason(err))
	}
	_, err := l.Chat("").List(t.Context(), procmgr.ListRequest{})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
}
