package procmgr

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math"
	"strings"
	"time"

	"github.com/toolproc/toolproc/headtail"
)

// The defaults and the lowest limit of [FollowOptions]. A shorter text has no room for
// the marker of a cut.
const (
	defaultEvery = 50 * time.Millisecond
	defaultChunk = 16 << 10
	minChunk     = 256
)

// longestIdle is how long a follower waits before it asks again. A new byte or a
// change of state ends the wait earlier. A wait is not told of a line that was
// redrawn between it and the wait before, so that line is shown no later than
// this.
const longestIdle = 10 * time.Second

// FollowOptions configures [Follow]. The zero value of every field is its
// default.
type FollowOptions struct {
	// From is the offset to begin at: 0 or a negative number is the beginning,
	// and an offset beyond the end is the end. To go on after an earlier
	// Follow, give the Next of its last chunk.
	From int64
	// Every is the shortest time between two chunks: 50 ms by default; a
	// negative duration is none.
	Every time.Duration
	// Limit is how many bytes Text and Live of a chunk have together at most:
	// 16 KiB by default. A negative number is no limit, and less than 256 bytes
	// are 256.
	Limit int
	// Await waits for a process that has not started yet, until ctx ends: for an ID
	// that the caller has chosen. A start that is refused ends no wait. Without Await,
	// the error is [ErrNotFound].
	Await bool
}

// A Chunk is the next part of the output of a process.
type Chunk struct {
	// Text is the output since the last chunk, as valid UTF-8 without terminal
	// sequences, as in [Output]. The Texts of all chunks
	// one after the other are the output. Offsets count bytes of the stream:
	// each invalid byte is U+FFFD in Text, so that the length of Text need not
	// be Next minus From.
	Text string
	// Live is the line that the program is still redrawing, such as a progress
	// line or a prompt; it stands behind Text. The next chunk replaces it: by
	// another one, by Text, or by nothing.
	Live string
	// From and Next are the offsets at which Text begins and ends. Gap is how
	// many bytes before From are lost, since neither the window nor the log
	// has them any more. The Next of the chunk before plus Gap is From.
	From, Next, Gap int64
	// Process is the process as it was when Text was read.
	Process Process
}

// Follow yields the output of a process, until it has exited or ctx ends.
//
// A chunk comes when there is output, when the state of the process has changed,
// or when the line that is being redrawn is another one; but no more often than
// every opts.Every, and with opts.Limit bytes at most. Output that the window or
// the log still has is not skipped. Follow never slows the process: if the process
// prints faster than the caller takes chunks, Gap counts the bytes that both have
// dropped.
//
// The last chunk has a Process that has exited, with or without Text, and all
// output has been yielded then. If a search revives the process later, that is
// an [Event], and another Follow reads on. If reading fails, or if ctx ends, the
// last pair has the error and an empty chunk.
//
// Follow needs nothing of m but Output. A nil opts is the zero value. The
// sequence can be ranged over several times; each begins anew.
func Follow(ctx context.Context, m Manager, id string, opts *FollowOptions) iter.Seq2[Chunk, error] {
	var o FollowOptions
	if opts != nil {
		o = *opts
	}
	o.Every = cmp.Or(o.Every, defaultEvery)
	if o.Limit = cmp.Or(o.Limit, defaultChunk); o.Limit < 0 {
		o.Limit = math.MaxInt
	}
	o.Limit = max(o.Limit, minChunk)
	return func(yield func(Chunk, error) bool) {
		f := follower{m: m, id: id, opts: o, at: max(o.From, 0), state: Running}
		for over := false; !over; {
			var chunk Chunk
			var err error
			if chunk, over, err = f.next(ctx); err != nil {
				yield(Chunk{}, err)
				return
			}
			f.at, f.live, f.state, f.yielded = chunk.Next, chunk.Live, chunk.Process.State, time.Now()
			if !yield(chunk, nil) {
				return
			}
		}
	}
}

// A follower is one run of Follow. The fields below opts describe its last chunk.
type follower struct {
	m       Manager
	id      string
	opts    FollowOptions
	at      int64
	live    string
	state   State
	yielded time.Time // zero before the first chunk
}

// next returns the next chunk. over reports that it is the last one.
func (f *follower) next(ctx context.Context) (chunk Chunk, over bool, err error) {
	var wait time.Duration
	if !f.yielded.IsZero() {
		if err := sleep(ctx, time.Until(f.yielded.Add(f.opts.Every))); err != nil {
			return Chunk{}, false, err
		}
		// The live line may have changed since the last chunk, and a wait is
		// only told of changes after its own beginning. So the first wait is
		// short: its end shows the line.
		wait = defaultEvery
	}
	for pause := time.Millisecond; ; pause = min(2*pause, defaultEvery) {
		began := time.Now()
		out, err := f.read(ctx, f.opts.Limit, wait)
		if f.opts.Await && wait == 0 && errors.Is(err, ErrNotFound) {
			if err := sleep(ctx, pause); err != nil {
				return Chunk{}, false, err
			}
			continue
		}
		if err == nil {
			chunk, err = f.chunk(ctx, out)
		}
		if err != nil {
			return Chunk{}, false, err
		}
		over = chunk.Process.State == Exited && chunk.Next == out.Next && chunk.Live == out.Live
		if over || chunk.Text != "" || chunk.Gap > 0 || chunk.Live != f.live || chunk.Process.State != f.state {
			return chunk, over, nil
		}
		f.at = chunk.Next
		// A server that is about to end cuts its waits short.
		if err := sleep(ctx, time.Until(began.Add(min(wait, defaultEvery)))); err != nil {
			return Chunk{}, false, err
		}
		wait = min(2*max(wait, defaultEvery), longestIdle)
	}
}

// read reads on, at most so many bytes. If wait is not 0, it waits for anything new.
func (f *follower) read(ctx context.Context, limit int, wait time.Duration) (Output, error) {
	req := OutputRequest{From: f.at, Limit: headtail.Limits{Bytes: limit, Line: -1}}
	if wait > 0 {
		req.Wait, req.Until, req.State = wait, ".", f.state
	}
	return f.m.Output(ctx, f.id, req)
}

// chunk returns the part of an output before the first cut. The manager says where
// that is: a program can print text that looks like the marker of one.
func (f *follower) chunk(ctx context.Context, out Output) (Chunk, error) {
	from := min(f.at, out.Next) // an offset beyond the end is the end
	text := strings.TrimSuffix(out.Text, out.Live)
	c := Chunk{Text: text, Live: out.Live, From: from, Next: out.Next, Process: out.Process}
	cut, ok := firstCut(out, from)
	switch {
	case !ok:
		return c, nil
	case cut.At >= len(text) && cut.From >= out.Next: // only the live line is cut
		if text != "" {
			c.Live = "" // the next chunk has it
		}
		return c, nil
	case cut.At > 0:
		c.Text, c.Live, c.Next = out.Text[:cut.At], "", cut.From
		return c, nil
	}
	// The text begins with what is lost, and the limit may have cut off more: a read
	// without a limit tells.
	whole, err := f.read(ctx, -1, 0)
	if err != nil {
		return Chunk{}, err
	}
	c.Text, c.Live = "", ""
	if cut, ok = firstCut(whole, from); ok && cut.At == 0 {
		c.From, c.Gap = cut.To, cut.To-from
	}
	c.Next = c.From
	return c, nil
}

// firstCut returns the first part of an output from an offset on that its text leaves
// out. It reports false if there is none.
func firstCut(out Output, from int64) (cut headtail.Cut, ok bool) {
	t := out.Truncated
	switch {
	case t == nil || t.OmittedBytes <= 0:
		return cut, false
	case len(t.Cuts) == 0: // the output does not say where it is missing
		return headtail.Cut{From: from, To: min(from+t.OmittedBytes, out.Next)}, true
	}
	cut = t.Cuts[0]
	return cut, cut.At >= 0 && cut.At <= len(out.Text) && from <= cut.From && cut.From < cut.To
}

// sleep returns when a time is over, or ctx's error.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
