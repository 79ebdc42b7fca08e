package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/examples/internal/newest"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// progressInterval is the shortest time between two notifications of a
	// call.
	progressInterval = 250 * time.Millisecond
	// progressSilence is the longest time between two notifications: many
	// clients give up on a call after a minute of silence.
	progressSilence = 10 * time.Second
	// progressLine bounds the line that a notification shows, in bytes.
	progressLine = 400
)

// reportProgress sends the output of a call's process to a client that has
// asked for it, while the call waits. The returned function stops that, and
// returns when it has stopped.
func reportProgress(ctx context.Context, req *mcp.CallToolRequest, m procmgr.Manager, c toolset.Call) (stop func()) {
	token, id := req.Params.GetProgressToken(), processOf(c)
	if token == nil || id == "" {
		return func() {}
	}
	watching, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	notify := func(seconds float64, line string) {
		// It uses ctx and not watching, so that stop does not cut off a
		// notification on its way. A notification that does not arrive is no
		// loss.
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token,
			Progress:      seconds,
			Message:       line,
		})
	}
	go func() { // stop waits for it
		defer close(done)
		watch(watching, m, id, notify)
	}()
	return func() {
		cancel()
		<-done
	}
}

// processOf returns the ID of the process that a call waits for, or "".
func processOf(c toolset.Call) string {
	switch c.Name {
	case "execute":
		return c.ID
	case "process_output":
		var arguments struct {
			ProcessID string `json:"process_id"`
		}
		_ = json.Unmarshal(c.Arguments, &arguments) // the tool itself reports an error
		return arguments.ProcessID
	}
	return ""
}

// watch calls notify whenever the process has printed something, with the
// seconds since the begin and the newest line, until ctx or the process ends. It
// calls notify, too, when the process begins to wait for input. After a long silence
// it calls notify with the same line again.
func watch(ctx context.Context, m procmgr.Manager, id string, notify func(seconds float64, line string)) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	lines := make(chan string)
	go func() { // it ends with ctx
		defer close(lines)
		for line := range newest.Lines(ctx, m, id, 0, progressInterval) {
			select {
			case lines <- shown(line):
			case <-ctx.Done():
				return
			}
		}
	}()
	asks := make(chan struct{})
	go askings(ctx, m, id, asks) // it ends with ctx
	began, line := time.Now(), ""
	for ok := true; ; {
		select {
		case line, ok = <-lines:
		case <-asks:
			notify(float64(time.Since(began).Milliseconds())/1000, "waits for input: "+line)
			continue
		case <-time.After(progressSilence):
		}
		if !ok || ctx.Err() != nil {
			return
		}
		// The protocol wants a number that grows with every notification.
		notify(float64(time.Since(began).Milliseconds())/1000, line)
	}
}

// askings sends a value whenever a process begins to wait for input, until ctx or the
// process ends.
func askings(ctx context.Context, m procmgr.Manager, id string, asks chan<- struct{}) {
	var last time.Time
	req := procmgr.OutputRequest{From: math.MaxInt64}
	for ctx.Err() == nil {
		pause := progressInterval
		out, err := m.Output(ctx, id, req)
		switch {
		case errors.Is(err, procmgr.ErrNotFound): // it has not started yet
		case err != nil || out.Process.State == procmgr.Exited || out.Process.Stdin == procmgr.StdinEmpty:
			return
		case out.Waiting != nil && !out.Waiting.Since.Equal(last):
			last = out.Waiting.Since
			select {
			case asks <- struct{}{}:
			case <-ctx.Done():
			}
		case out.Waiting != nil:
			pause = time.Second
		default:
			req.Wait, req.UntilWaiting = time.Minute, true
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// shown returns as much of a line as a notification shows: its end.
func shown(line string) string {
	if cut := len(line) - progressLine; cut > 0 {
		line = "…" + strings.ToValidUTF8(line[cut:], "")
	}
	return newest.Plain(line)
}
