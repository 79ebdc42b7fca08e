package main

import (
	"context"
	"encoding/json"
	"math"
	"sync"

	"charm.land/fantasy"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/examples/internal/interrupt"
	"github.com/toolproc/toolproc/examples/internal/newest"
	"github.com/toolproc/toolproc/procmgr"
)

// A watcher shows the calls and results of the tools. It is safe for concurrent
// use.
type watcher struct {
	manager procmgr.Manager
	stop    *interrupt.Handler
	show    *screen
}

// A watchedTool is a tool whose calls and results are shown. Between the two it shows
// the newest line of the process that the call waits for. Ctrl-C stops the
// call.
type watchedTool struct {
	fantasy.AgentTool
	*watcher
}

type idKey struct{}

// processID returns the ID that Run has chosen for the process of a call. The
// ID of the call would not do: if a provider sends no IDs, fantasy gives the
// calls of each answer the same ones, and a process ID runs once.
func processID(ctx context.Context, _ toolset.Call) string {
	id, _ := ctx.Value(idKey{}).(string)
	return id
}

// Run carries out a call. It waits for the goroutine that shows the output.
func (w watchedTool) Run(ctx context.Context, call fantasy.ToolCall) (fantasy.ToolResponse, error) {
	w.show.call(call)
	ctx, done := w.stop.Command(ctx)
	defer done()

	id, from := procmgr.NewID(), int64(0)
	var arguments struct {
		ProcessID string `json:"process_id"`
	}
	if json.Unmarshal([]byte(call.Input), &arguments) == nil && arguments.ProcessID != "" {
		id, from = arguments.ProcessID, math.MaxInt64 // from the end of the output on
	}
	tailing, end := context.WithCancel(ctx)
	var tail sync.WaitGroup
	tail.Go(func() { w.tail(tailing, id, from) })
	response, err := w.AgentTool.Run(context.WithValue(ctx, idKey{}, id), call)
	end()
	tail.Wait()
	w.show.result(call, response)
	return response, err
}

// tail shows the newest line of a process's output, until ctx or the process
// ends.
func (w *watcher) tail(ctx context.Context, id string, from int64) {
	for line := range newest.Lines(ctx, w.manager, id, from, w.show.pace()) {
		w.show.live(line)
	}
}
