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
	// progressInterval is the least time between two notifications of a call.
	progressInterval = 250 * time.Millisecond
	// progressSilence is the most: many clients give up on a call after a
	// minute without a word.
	progressSilence = 10 * time.Second
	// progressLine bounds the line that a notification shows, in bytes.
	progressLine = 400
)

// reportProgress tells a client that asks for it what the process of a call
// prints, while the call waits. What it returns ends that, and returns when it
// has ended.
func reportProgress(ctx context.Context, req *mcp.CallToolRequest, m procmgr.Manager, c toolset.Call) (stop func()) {
	token, id := req.Params.GetProgressToken(), processOf(c)
	if token == nil || id == "" {
		return func() {}
	}
	watching, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	notify := func(seconds float64, line string) {
		// With ctx and not watching: a notification that is on its way is
		// not cut off. One that does not arrive is no loss.
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

// processOf returns the process that a call waits for, or "".
func processOf(c toolset.Call) string {
	switch c.Name {
	case "execute":
		return c.ID
	case "process_output":
		var arguments struct {
			ProcessID string `json:"process_id"`
		}
		_ = json.Unmarshal(c.Arguments, &arguments) // the tool itself says what is wrong
		return arguments.ProcessID
	}
	return ""
}

// watch calls notify with the seconds that have passed and the newest line,
// whenever the process has printed something, until ctx or the process ends.
// It waits for output and does not poll.
func watch(ctx context.Context, m procmgr.Manager, id string, notify func(seconds float64, line string)) {
	began := time.Now()
	last, lastAt := "", began
	req := procmgr.OutputRequest{Wait: progressSilence, Until: ".", Limit: headtail.Limits{Bytes: progressLine}}
	for {
		// First of all: most commands end before this, and cost nothing here.
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
			return // the result says the rest
		}
		req.From = out.Next
		line := newestLine(out.Text)
		if line == "" {
			line = last
		}
		if line == last && time.Since(lastAt) < progressSilence {
			continue // as of a line that is drawn again and has no offset yet
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
