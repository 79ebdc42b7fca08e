package procview

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// maxResults is how many bytes of results a View remembers, and maxResultsEach of
	// how many results of one process.
	maxResults     = 32 << 20
	maxResultsEach = 256
	// maxSpans is how many parts of an output a View remembers as shown, and maxTold
	// how many moments. Of more, the oldest go: the page then says of too much that
	// the model has not seen it.
	maxSpans = 512
	maxTold  = 64
	// maxKnown is of how many processes it remembers anything.
	maxKnown = 16 << 10
	// maxCalls is how many calls a View remembers, and maxContent how many bytes of
	// the result of one without a process.
	maxCalls   = 200
	maxContent = 16 << 10
)

// A result is one result of a tool, as the model got it.
type result struct {
	N         int64     `json:"n"` // counts the results of a View
	At        time.Time `json:"at"`
	Tool      string    `json:"tool"`
	Arguments string    `json:"arguments"`
	Content   string    `json:"content"`
	Bytes     int       `json:"bytes"`
	Tokens    int       `json:"tokens"`
	Counted   bool      `json:"counted"` // Tokens was counted for the model
	IsError   bool      `json:"is_error,omitempty"`
	Omitted   int64     `json:"omitted,omitempty"` // bytes of the output
}

// A call is a call of a tool in the column of calls. One about a process leads to it.
type call struct {
	N         int64     `json:"n"` // grows, also from one View to the next
	At        time.Time `json:"at"`
	Tool      string    `json:"tool"`
	About     string    `json:"about"` // the argument that tells most
	Outcome   string    `json:"outcome,omitempty"`
	Kind      string    `json:"kind,omitempty"` // denied or failed
	ChatID    string    `json:"chat_id,omitempty"`
	ProcessID string    `json:"id,omitempty"`
	Content   string    `json:"content,omitempty"` // of a call without a process
}

// callOf describes a call.
func callOf(c toolset.Call, r toolset.Result, now time.Time) call {
	one := call{At: now, Tool: clip(c.Name, 64), About: clip(about(c.Arguments), 400)}
	if r.Report.Description != "" {
		one.About = clip(r.Report.Description, 200) + ": " + one.About
	}
	switch {
	case r.Report.Denied:
		one.Outcome, one.Kind = "denied", "denied"
	case r.IsError:
		one.Outcome, one.Kind = "error", "failed"
	case r.Output == nil:
	case r.Report.ExitCode != nil:
		one.Outcome = fmt.Sprintf("exit %d", *r.Report.ExitCode)
		if *r.Report.ExitCode != 0 && r.Output.Process.EndedBy != procmgr.CauseRequest {
			one.Kind = "failed"
		}
	default:
		one.Outcome = string(r.Report.State)
	}
	if r.Output != nil {
		one.ChatID, one.ProcessID = r.Output.Process.ChatID, r.Output.Process.ID
	} else {
		one.Content = clip(r.Content, maxContent)
	}
	return one
}

// about returns the argument that tells a person most, or all of them.
func about(arguments json.RawMessage) string {
	var known struct {
		Command   string `json:"command"`
		Path      string `json:"path"`
		ProcessID string `json:"process_id"`
	}
	_ = json.Unmarshal(arguments, &known) // then all of them are shown
	return cmp.Or(known.Command, known.Path, known.ProcessID, strings.Trim(string(arguments), "{}"))
}

// A transcript is what the model has read of one process.
type transcript struct {
	Results []result `json:"results"`
	Dropped int      `json:"dropped,omitempty"` // how many older results are kept no more
	// Spans has the parts of the output that results have shown, in order. No two
	// touch.
	Spans []toolset.Span `json:"spans"`
	// At are the moments at which the model was told of the process.
	At []time.Time `json:"-"`
	// Highlights are the highlights that results have shown.
	Highlights []procmgr.Highlight `json:"highlights,omitempty"`
	// Wired reports that the View gets results at all.
	Wired bool `json:"wired"`

	last int64 // the N of the newest change
}

// A modelView has what the model has read.
type modelView struct {
	mu    sync.Mutex // guards the fields below
	n     int64
	bytes int
	of    map[key]*transcript
	order []key // the keys of results, the oldest first
	known []key // the keys of of, the oldest first
	calls []call
	bell  bell
}

// Result is for Options.OnResult of packages toolset and filetool. The page then shows the calls, what
// the model has read of each process, and what it has not seen. The result of another tool
// is a Result without an Output.
func (v *View) Result(_ context.Context, c toolset.Call, r toolset.Result) {
	now := time.Now()
	v.told.call(callOf(c, r, now))
	if r.Output == nil {
		v.told.mention(r.Report.Processes, now)
		return
	}
	one := result{
		At: now, Tool: c.Name, Arguments: clip(string(c.Arguments), 4<<10), Content: r.Content,
		Bytes: len(r.Content), Tokens: (len(r.Content) + 3) / 4, IsError: r.IsError,
	}
	if count := v.opts.CountTokens; count != nil {
		one.Tokens, one.Counted = count(r.Content), true
	}
	if cut := r.Report.Truncated; cut != nil {
		one.Omitted = cut.OmittedBytes
	}
	p := r.Output.Process
	v.told.add(key{p.ChatID, p.ID}, one, r.Report.Shows, r.Report.Highlights)
}

// call remembers a call.
func (t *modelView) call(one call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one.N = one.At.UnixMicro()
	if n := len(t.calls); n > 0 {
		one.N = max(one.N, t.calls[n-1].N+1)
	}
	t.calls = latest(append(t.calls, one), maxCalls)
	t.bell.ring()
}

// callsSince returns the calls behind the N of another one.
func (t *modelView) callsSince(n int64) []call {
	t.mu.Lock()
	defer t.mu.Unlock()
	i, _ := slices.BinarySearchFunc(t.calls, n+1, func(c call, n int64) int { return cmp.Compare(c.N, n) })
	return slices.Clone(t.calls[i:])
}

// add remembers a result.
func (t *modelView) add(k key, one result, shows []toolset.Span, found []procmgr.Highlight) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.reading(k)
	of.At = latest(append(of.At, one.At), maxTold)
	one.N = t.n
	of.Results = append(of.Results, one)
	of.Spans = latest(join(append(of.Spans, shows...)), maxSpans)
	for _, h := range found {
		if !slices.ContainsFunc(of.Highlights, func(known procmgr.Highlight) bool { return known.Offset == h.Offset }) {
			of.Highlights = latest(append(of.Highlights, h), maxSpans)
		}
	}
	t.bytes += len(one.Content)
	t.order = append(t.order, k)
	if len(of.Results) > maxResultsEach {
		t.drop(slices.Index(t.order, k))
	}
	for t.bytes > maxResults {
		t.drop(0)
	}
	t.bell.ring()
}

// mention remembers that the model was told of processes.
func (t *modelView) mention(all []procmgr.Process, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range all {
		of := t.reading(key{p.ChatID, p.ID})
		of.At = latest(append(of.At, now), maxTold)
	}
	if len(all) > 0 {
		t.bell.ring()
	}
}

// reading returns what is known of a process that is about to change. The caller holds
// the lock.
func (t *modelView) reading(k key) *transcript {
	t.n++
	if t.of == nil {
		t.of = make(map[key]*transcript)
	}
	of := t.of[k]
	if of == nil {
		of = &transcript{Wired: true}
		t.of[k] = of
		t.known = append(t.known, k)
		if len(t.known) > maxKnown {
			t.forget(t.known[0])
		}
	}
	of.last = t.n
	return of
}

// drop drops the oldest result of the process at a place in order.
func (t *modelView) drop(i int) {
	of := t.of[t.order[i]]
	t.order = slices.Delete(t.order, i, i+1)
	t.bytes -= len(of.Results[0].Content)
	of.Results = slices.Delete(of.Results, 0, 1)
	of.Dropped++
}

func (t *modelView) forget(k key) {
	for range t.of[k].Results {
		t.drop(slices.Index(t.order, k))
	}
	delete(t.of, k)
	t.known = t.known[1:]
}

// since returns what the model has read of a process, with the results behind the n of
// an earlier call alone. It returns nil if nothing is new, and the n of the next call.
func (t *modelView) since(k key, n int64) (*transcript, int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.of[k]
	if of == nil {
		of = &transcript{Wired: len(t.calls) > 0}
	}
	if n >= 0 && of.last <= n {
		return nil, n
	}
	out := *of
	out.Results = nil
	for _, r := range of.Results {
		if r.N > n {
			out.Results = append(out.Results, r)
		}
	}
	out.Spans, out.Highlights = slices.Clone(of.Spans), slices.Clone(of.Highlights)
	return &out, of.last
}

// moments returns when the model was told of a process, and the n of that.
func (t *modelView) moments(k key) []time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if of := t.of[k]; of != nil {
		return slices.Clone(of.At)
	}
	return nil
}

// join sorts spans, and merges spans that touch.
func join(spans []toolset.Span) []toolset.Span {
	slices.SortFunc(spans, func(a, b toolset.Span) int { return cmp.Compare(a.From, b.From) })
	joined := spans[:0]
	for _, s := range spans {
		if n := len(joined); n > 0 && s.From <= joined[n-1].To {
			joined[n-1].To = max(joined[n-1].To, s.To)
		} else {
			joined = append(joined, s)
		}
	}
	return joined
}

// latest returns the last n values.
func latest[T any](all []T, n int) []T { return all[max(0, len(all)-n):] }

// clip returns the first n bytes of a text, with … if there are more.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}

// A bell tells its waiters that something has happened. Its owner's lock guards it.
type bell struct{ c chan struct{} }

// heard returns a channel that is closed when the bell rings next.
func (b *bell) heard() <-chan struct{} {
	if b.c == nil {
		b.c = make(chan struct{})
	}
	return b.c
}

func (b *bell) ring() {
	if b.c != nil {
		close(b.c)
		b.c = nil
	}
}

// heard returns a channel that is closed when the model is told of something.
func (t *modelView) heard() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bell.heard()
}
