package main

import (
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode"

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

// watch calls notify whenever the newest line of the process is another one, with the
// seconds since the begin, until ctx or the process ends. It calls notify, too, when the
// process begins to wait for input, and after a long silence with the same line again.
func watch(ctx context.Context, m procmgr.Manager, id string, notify func(seconds float64, line string)) {
	ticks := time.NewTicker(progressInterval)
	defer ticks.Stop()
	began, line := time.Now(), ""
	told, asked := began, time.Time{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		out, _ := m.Output(ctx, id, procmgr.OutputRequest{Limit: headtail.Limits{Bytes: 4 << 10}}) // it may not have started yet
		if ctx.Err() != nil || out.Process.State == procmgr.Exited {
			return // the result of the call has the rest
		}
		newest, prefix := newestLine(out.Text), ""
		if w := out.Process.Waiting; w != nil && !w.Since.Equal(asked) && time.Since(w.Since) > 2*progressInterval {
			asked, prefix = w.Since, "waits for input: "
		} else if newest == line && time.Since(told) < progressSilence {
			continue
		}
		// The protocol wants a number that grows with every notification.
		line, told = newest, time.Now()
		notify(float64(told.Sub(began).Milliseconds())/1000, prefix+line)
	}
}

// newestLine returns the last line of a text that is not blank, without the characters
// that would do more than show text or turn it around: of a long one, its end.
func newestLine(text string) string {
	text = strings.TrimSpace(text)
	line := strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	if cut := len(line) - progressLine; cut > 0 {
		line = "…" + strings.ToValidUTF8(line[cut:], "")
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return -1
		}
		return r
	}, line)
}
