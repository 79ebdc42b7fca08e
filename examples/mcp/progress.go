package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/headtail"
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
// seconds since the begin and the newest line, until ctx or the process ends.
// It waits for output and does not poll.
func watch(ctx context.Context, m procmgr.Manager, id string, notify func(seconds float64, line string)) {
	began := time.Now()
	last, lastAt := "", began
	req := procmgr.OutputRequest{Wait: progressSilence, Until: ".", Limit: headtail.Limits{Bytes: progressLine}}
	for {
		// This comes first: most commands end before it, and cost nothing here.
		select {
		case <-ctx.Done():
			return
		case <-time.After(progressInterval):
		}
		out, err := m.Output(ctx, id, req)
		switch {
		case errors.Is(err, procmgr.ErrNotFound):
			continue // it has not started yet
		case err != nil, ctx.Err() != nil, out.Process.State == procmgr.Exited:
			return // the result has the rest
		}
		req.From = out.Next
		line := newestLine(out.Text)
		if line == "" {
			line = last
		}
		if line == last && time.Since(lastAt) < progressSilence {
			continue // as with a line that is drawn again and has no offset yet
		}
		last, lastAt = line, time.Now()
		// The protocol wants a number that grows with every notification.
		notify(float64(lastAt.Sub(began).Milliseconds())/1000, line)
	}
}

// newestLine returns the last line of a text that is not blank.
func newestLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
