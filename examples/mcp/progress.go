package main

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"time"
	"unicode"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolproc/toolproc/chattool/toolset"
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
// After a long silence it calls notify with the same line again.
func watch(ctx context.Context, m procmgr.Manager, id string, notify func(seconds float64, line string)) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	lines := make(chan string)
	go func() { // it ends with ctx
		defer close(lines)
		for line := range newestLines(ctx, m, id) {
			select {
			case lines <- line:
			case <-ctx.Done():
				return
			}
		}
	}()
	began, line := time.Now(), ""
	for ok := true; ; {
		select {
		case line, ok = <-lines:
		case <-time.After(progressSilence):
		}
		if !ok || ctx.Err() != nil {
			return
		}
		// The protocol wants a number that grows with every notification.
		notify(float64(time.Since(began).Milliseconds())/1000, line)
	}
}

// newestLines yields the newest line of a process whenever it is another one,
// until ctx or the process ends. The result of the call has the rest.
func newestLines(ctx context.Context, m procmgr.Manager, id string) iter.Seq[string] {
	return func(yield func(string) bool) {
		opts := &procmgr.FollowOptions{Every: progressInterval, Limit: 256 << 10}
		for last := ""; ; {
			// This comes first: most commands end before it, and cost nothing here.
			select {
			case <-ctx.Done():
				return
			case <-time.After(progressInterval):
			}
			for chunk, err := range procmgr.Follow(ctx, m, id, opts) {
				if errors.Is(err, procmgr.ErrNotFound) {
					break // it has not started yet
				}
				if err != nil || chunk.Process.State == procmgr.Exited {
					return
				}
				line := newestLine(chunk.Text + chunk.Live)
				if line == "" || line == last {
					continue
				}
				if last = line; !yield(line) {
					return
				}
			}
		}
	}
}

// newestLine returns the last line of a text that is not blank, or the end of
// it.
func newestLine(text string) string {
	text = strings.TrimSpace(text)
	line := text[strings.LastIndexByte(text, '\n')+1:]
	if cut := len(line) - progressLine; cut > 0 {
		line = "…" + strings.ToValidUTF8(line[cut:], "")
	}
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return -1 // it would do more than show text
		}
		return r
	}, line))
}
