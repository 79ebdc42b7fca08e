package procmgr

import (
	"context"
	"errors"
	"iter"
	"math"
	"time"
	"unicode/utf8"

	"github.com/toolproc/toolproc/headtail"
)

// The defaults of [FollowOptions].
const (
	defaultEvery = 50 * time.Millisecond
	defaultChunk = 16 << 10
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
	// 16 KiB by default. A negative number is no limit, and less than 4 bytes,
	// in which not every rune fits, is 4.
	Limit int
	// Await waits for a process that has not started yet, until ctx ends: for the ID
	// that OnStart of package toolset was given. A start that is refused ends no wait.
	// Without Await, the error is [ErrNotFound].
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
	// has them any more; or, among invalid bytes and U+FFFD that were printed, since
	// the window has moved faster than anybody could tell them apart. The Next of the
	// chunk before plus Gap is From.
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
	o.Every = orDefault(o.Every, defaultEvery, 0)
	o.Limit = max(orDefault(o.Limit, defaultChunk, math.MaxInt), utf8.UTFMax)
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

// A follower is one run of Follow. The fields below opts are those of its last
// chunk.
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
	for {
		began := time.Now()
		var out Output
		if wait == 0 {
			out, err = f.first(ctx)
		} else {
			out, err = f.read(ctx, f.at, f.room(), wait)
		}
		if err != nil {
			return Chunk{}, false, err
		}
		chunk, all, err := f.chunk(ctx, out, false)
		for tries := 1; errors.Is(err, errMoved); tries++ {
			if out, err = f.read(ctx, f.at, f.room(), 0); err == nil {
				chunk, all, err = f.chunk(ctx, out, tries == maxTries)
			}
		}
		if err != nil {
			return Chunk{}, false, err
		}
		over := all && chunk.Process.State == Exited
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

// first makes the first read, which waits for nothing new.
func (f *follower) first(ctx context.Context) (Output, error) {
	for pause := time.Millisecond; ; pause = min(2*pause, defaultEvery) {
		out, err := f.read(ctx, f.at, f.room(), 0)
		if !f.opts.Await || !errors.Is(err, ErrNotFound) {
			return out, err
		}
		if err := sleep(ctx, pause); err != nil {
			return Output{}, err
		}
	}
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

// room is the limit of a text that is read for a chunk. If the text is cut, its
// beginning and its end have half of the room each, and the chunk is the
// beginning.
func (f *follower) room() int {
	const most = 1 << 29
	if f.opts.Limit > most {
		return -1
	}
	return 2*f.opts.Limit + 1024
}

// read reads from an offset on. If wait is not 0, it waits for anything new.
func (f *follower) read(ctx context.Context, from int64, room int, wait time.Duration) (Output, error) {
	req := OutputRequest{From: from, Limit: headtail.Limits{Bytes: room, Line: -1}}
	if wait > 0 {
		req.Wait, req.Until, req.State = wait, ".", f.state
	}
	return f.m.Output(ctx, f.id, req)
}

// chunk makes a chunk of an answer. all reports that nothing is left to be read.
// If last is not set, the error may be errMoved: the caller then reads again. If it is
// set, what cannot be told is counted in the gap.
func (f *follower) chunk(ctx context.Context, out Output, last bool) (chunk Chunk, all bool, err error) {
	from := min(f.at, out.Next) // an offset beyond the end is the end
	s, live := firstStretch(out, from)
	for room := f.room(); s.from > from && room > 0 && len(out.Text) > room-1024; {
		// Kept output that did not fit into the text is not lost.
		room = more(room)
		if out, err = f.read(ctx, from, room, 0); err != nil {
			return Chunk{}, false, err
		}
		s, live = firstStretch(out, from)
	}
	chunk = Chunk{From: s.from, Process: out.Process}
	switch chunk.Text, chunk.Next, err = f.take(ctx, s); {
	case errors.Is(err, errMoved) && last:
		s = s.behindUnknown()
		var rest stretch
		chunk.Text, rest = s.take(f.opts.Limit)
		chunk.From, chunk.Next = s.from, rest.from
	case err != nil:
		return Chunk{}, false, err
	}
	chunk.Gap = chunk.From - from
	all = chunk.Next == out.Next
	if all {
		chunk.Live = f.fit(live, chunk.Text)
		all = chunk.Live == live || chunk.Text == ""
	}
	return chunk, all, nil
}

// take returns the beginning of a stretch, as much as fits into a chunk, and the
// offset at which it ends. The error is errMoved if it cannot tell the width of the
// U+FFFD with which the stretch begins.
func (f *follower) take(ctx context.Context, s stretch) (text string, next int64, err error) {
	text, rest := s.take(f.opts.Limit)
	for probes := 0; rest.beginsUnknown() && len(text)+len(holeText) <= f.opts.Limit; probes++ {
		width, err := f.probe(ctx, rest)
		switch {
		case err != nil:
			return "", 0, err
		case text != "" && (width == unknown || probes == maxProbes):
			return text, rest.from, nil // the next chunk begins with it
		case width == unknown:
			return "", 0, errMoved
		}
		more, behind := rest.behindHole(width).take(f.opts.Limit - len(text) - len(holeText))
		text, rest = text+holeText+more, behind
	}
	return text, rest.from, nil
}

// probe returns how many bytes of the stream the U+FFFD is with which a stretch
// begins, or unknown. It reads from the second byte on. If the U+FFFD is one
// invalid byte, the text behind it follows. If it was printed as it is, its
// second and its third byte follow, each of them invalid without the first.
func (f *follower) probe(ctx context.Context, s stretch) (width int64, err error) {
	out, err := f.read(ctx, s.from+1, f.room(), 0)
	if err != nil {
		return unknown, err
	}
	got, _ := firstStretch(out, s.from+1)
	one := s.text[len(holeText):]
	three := holeText + holeText + one
	isOne, isThree := begins(got.text, one), begins(got.text, three)
	switch {
	case got.from != s.from+1, !isOne && !isThree:
		return unknown, nil // the text has been dropped meanwhile
	case !isOne:
		return 3, nil
	case !isThree:
		return 1, nil
	case got.to != s.to:
		return unknown, nil
	case len(got.text) == len(three):
		return 3, nil // both texts end in the same place
	}
	return 1, nil // so, or a long text of nothing but U+FFFD
}

// errMoved: the process has printed more while the width of a U+FFFD was asked
// for, and the answers do not fit together.
var errMoved = errors.New("the output has changed meanwhile")

// begins reports whether two texts are the same as far as both go.
func begins(a, b string) bool {
	n := min(len(a), len(b))
	return a[:n] == b[:n]
}

// more returns a larger room; negative for no limit.
func more(room int) int {
	if room > math.MaxInt/8 {
		return -1
	}
	return 4 * room
}

// fit returns as much of the live line as a chunk with a text can have: all of
// it, or none if the next chunk can have it, or its end.
func (f *follower) fit(live, text string) string {
	room := f.opts.Limit - len(text)
	if len(live) <= room {
		return live
	}
	if text != "" {
		return ""
	}
	at := len(live) - room
	for at < len(live) && !utf8.RuneStart(live[at]) {
		at++
	}
	return live[at:]
}

// orDefault returns v, or the default for 0, or none for a negative number.
func orDefault[T ~int | ~int64](v, byDefault, none T) T {
	switch {
	case v == 0:
		return byDefault
	case v < 0:
		return none
	}
	return v
}
