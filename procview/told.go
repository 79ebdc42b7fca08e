package procview

import (
	"cmp"
	"context"
	"slices"
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
	Counted   bool      `json:"counted"` // Tokens are those of the model
	IsError   bool      `json:"is_error,omitempty"`
	Omitted   int64     `json:"omitted,omitempty"` // bytes of the output
}

// A reading is what the model has read of one process.
type reading struct {
	Results []result `json:"results"`
	Dropped int      `json:"dropped,omitempty"` // how many older results are kept no more
	// Spans has the parts of the output that results have shown, in order. No two
	// touch.
	Spans []toolset.Span `json:"spans"`
	// At are the moments at which the model was told of the process.
	At []time.Time `json:"-"`
	// Highlights are those that results have shown.
	Highlights []procmgr.Highlight `json:"highlights,omitempty"`
	// Wired reports that the View gets results at all.
	Wired bool `json:"wired"`

	last int64 // the N of the newest change
}

// told has what the model has read.
type told struct {
	mu    sync.Mutex // guards the fields below
	n     int64
	bytes int
	of    map[key]*reading
	order []key // those of results, the oldest first
	known []key // those of of, the oldest first
	bell  bell
}

// Result is for Options.OnResult of package toolset. The page then shows what the model
// has read of each process, and what it has not seen.
func (v *View) Result(_ context.Context, c toolset.Call, r toolset.Result) {
	now := time.Now()
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

// add remembers a result.
func (t *told) add(k key, one result, shows []toolset.Span, found []procmgr.Highlight) {
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
func (t *told) mention(all []procmgr.Process, now time.Time) {
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
func (t *told) reading(k key) *reading {
	t.n++
	if t.of == nil {
		t.of = make(map[key]*reading)
	}
	of := t.of[k]
	if of == nil {
		of = &reading{Wired: true}
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
func (t *told) drop(i int) {
	of := t.of[t.order[i]]
	t.order = slices.Delete(t.order, i, i+1)
	t.bytes -= len(of.Results[0].Content)
	of.Results = slices.Delete(of.Results, 0, 1)
	of.Dropped++
}

func (t *told) forget(k key) {
	for range t.of[k].Results {
		t.drop(slices.Index(t.order, k))
	}
	delete(t.of, k)
	t.known = t.known[1:]
}

// since returns what the model has read of a process, with the results behind the n of
// an earlier call alone. It returns nil if nothing is new, and the n of the next call.
func (t *told) since(k key, n int64) (*reading, int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.of[k]
	if of == nil {
		of = &reading{Wired: t.n > 0, last: 0}
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
func (t *told) moments(k key) []time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if of := t.of[k]; of != nil {
		return slices.Clone(of.At)
	}
	return nil
}

// join sorts spans, and makes one of those that touch.
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

// A bell tells those that wait that something has happened. Its owner's lock guards it.
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
func (t *told) heard() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bell.heard()
}
