package proclocal_test

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

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
