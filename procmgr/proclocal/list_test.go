package proclocal_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// While processes start, end and are forgotten, a list has each one at most once.
// It has each that has started and not ended, and agrees with the state that
// another call has told.
func TestListDuringStartsAndEnds(t *testing.T) {
	const workers, each = 4, 25
	stdin := procmgr.StdinPipe // a list tells whether it waits for input
	if runtime.GOOS == "windows" {
		stdin = procmgr.StdinEmpty
	}
	l := newLocal(t, &proclocal.Options{Retain: 1})
	var running sync.WaitGroup
	has := func(m procmgr.Manager, id string) *procmgr.Process {
		page, err := m.List(t.Context(), procmgr.ListRequest{})
		assert.NoError(t, err)
		var found *procmgr.Process
		for _, p := range page.Processes {
			assert.Equal(t, p.State == procmgr.Exited, !p.ExitedAt.IsZero())
			if p.ID == id {
				assert.Nil(t, found, "it is there twice")
				found = &p
			}
		}
		return found
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
}
