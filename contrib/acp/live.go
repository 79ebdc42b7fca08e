package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/coder/acp-go-sdk"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	every = 200 * time.Millisecond // the shortest time between two updates of a call
	most  = 16 << 10               // bytes of output that an update has: the newest
)

// A card is a tool call as the editor shows it.
type card struct {
	s     *session
	id    acp.ToolCallId
	title string

	stop     context.CancelFunc // ends watching; nil if nothing is followed
	watching sync.WaitGroup     // the goroutine of follow
	process  string

	// These belong to the goroutine of follow until watching is over.
	next       int64
	text, live string // what is shown: the newest output, and the line that is being redrawn
}

// show shows a call that begins.
func (s *session) show(ctx context.Context, call toolset.Call) *card {
	c := &card{s: s, id: acp.ToolCallId(call.ID), title: call.Name}
	var arguments struct {
		Command   string `json:"command"`
		ProcessID string `json:"process_id"`
	}
	_ = json.Unmarshal(call.Arguments, &arguments) // the tool itself reports an error
	start := acp.SessionUpdateToolCall{ToolCallId: c.id, Kind: acp.ToolKindExecute, Status: acp.ToolCallStatusInProgress}
	switch {
	case arguments.Command != "":
		c.title = arguments.Command
	case arguments.ProcessID != "":
		c.title += " " + arguments.ProcessID
	}
	if call.Name == "process_output" || call.Name == "process_list" {
		start.Kind = acp.ToolKindRead
	}
	start.Title = c.title
	if json.Valid(call.Arguments) {
		start.RawInput = call.Arguments
	}
	s.update(ctx, acp.SessionUpdate{ToolCall: &start})
	switch call.Name {
	case "execute":
		c.follow(ctx, call.ID)
	case "process_output":
		c.follow(ctx, arguments.ProcessID)
	}
	return c
}

// follow shows what a process prints until finish, which waits for the goroutine.
func (c *card) follow(ctx context.Context, process string) {
	ctx, c.stop = context.WithCancel(ctx)
	c.process = process
	c.watching.Go(func() { c.watch(ctx) })
}

// watch shows what the process prints, which may not have started yet.
func (c *card) watch(ctx context.Context) {
	// This comes first: most commands end before it, and their result shows all.
	select {
	case <-ctx.Done():
		return
	case <-time.After(every):
	}
	for chunk, err := range procmgr.Follow(ctx, c.s.manager, c.process, &procmgr.FollowOptions{Every: every, Limit: most, Await: true}) {
		if err != nil {
			return
		}
		c.next = chunk.Next
		added := chunk.Text
		if chunk.Gap > 0 {
			added = fmt.Sprintf("\n[%d bytes are not shown]\n%s", chunk.Gap, added)
		}
		if added == "" && chunk.Live == c.live {
			continue
		}
		c.text, c.live = tail(c.text+added), chunk.Live
		update := acp.SessionToolCallUpdate{ToolCallId: c.id, Content: c.content("")}
		c.s.update(ctx, acp.SessionUpdate{ToolCallUpdate: &update})
	}
}

// content is what is shown, with words behind it. It is never empty: that would leave
// what the editor shows as it is.
func (c *card) content(words string) (all []acp.ToolCallContent) {
	for _, text := range []string{tail(c.text + c.live), words} {
		if text != "" {
			all = append(all, acp.ToolContent(acp.TextBlock(fenced(text))))
		}
	}
	if len(all) == 0 {
		all = append(all, acp.ToolContent(acp.TextBlock("(no output)")))
	}
	return all
}

// finish shows the result of the call, and the output that has come last.
func (c *card) finish(ctx context.Context, res toolset.Result) {
	if c.stop != nil {
		c.stop()
		c.watching.Wait()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		out, err := c.s.manager.Output(ctx, c.process, procmgr.OutputRequest{From: c.next, Limit: headtail.Limits{Bytes: most}})
		if err == nil { // otherwise nothing has started
			c.text, c.live = tail(c.text+out.Text), ""
		}
	}
	r, status := res.Report, acp.ToolCallStatusCompleted
	if !r.Success {
		status = acp.ToolCallStatusFailed
	}
	words := r.Error
	if c.stop == nil && words == "" {
		words = res.Content
	}
	update := acp.SessionToolCallUpdate{ToolCallId: c.id, Status: &status, Content: c.content(words), RawOutput: r}
	c.s.update(ctx, acp.SessionUpdate{ToolCallUpdate: &update})
}

// tail returns the newest bytes of a text.
func tail(text string) string {
	return strings.ToValidUTF8(text[max(0, len(text)-most):], "")
}

// fenced returns a text that an editor shows as it is, in a block whose fence is not in it.
func fenced(text string) string {
	text = plain(text) // first, since it may bring backticks together
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "console\n" + strings.TrimSuffix(text, "\n") + "\n" + fence
}

// plain removes the characters that do more than show text or that reverse the order of
// a line. Line ends and tabs stay.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return -1
		}
		return r
	}, text)
}
