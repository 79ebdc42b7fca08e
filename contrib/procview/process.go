package procview

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// maxPart is the largest part of an output that one answer has, in bytes.
	maxPart = 256 << 10
	// maxListed is the largest page of a list.
	maxListed = 1000
	// endWait is how long a request to terminate or interrupt waits for the end before
	// it says what is left.
	endWait = 3 * time.Second
)

func (v *View) serveList(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit := number(q.Get("limit"), 200)
	v.watch.enter(r.Context())
	defer v.watch.leave()
	page, _ := v.watch.page(q.Get("q"), int(number(q.Get("offset"), 0)), int(min(limit, maxListed)))
	if _, trouble, _, _, _ := v.watch.since(math.MaxInt64, 0); trouble != "" && page.Total == 0 {
		fail(w, http.StatusBadGateway, trouble)
		return
	}
	answer(w, http.StatusOK, page)
}

// number reads a number that is not negative.
func number(s string, byDefault int64) int64 {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n >= 0 {
		return n
	}
	return byDefault
}

// end returns the offset at which the output ends now.
func (s subject) end(ctx context.Context) (int64, error) {
	out, err := s.manager.Output(ctx, s.id, procmgr.OutputRequest{From: math.MaxInt64, Limit: headtail.Limits{Bytes: 1}})
	return out.Next, err
}

// chunks yields the output between two offsets, at most maxPart bytes at a time.
func (s subject) chunks(ctx context.Context, from, to int64) iter.Seq2[procmgr.Chunk, error] {
	return func(yield func(procmgr.Chunk, error) bool) {
		for from < to {
			opts := &procmgr.FollowOptions{From: from, Every: -1, Limit: int(min(maxPart, to-from))}
			for chunk, err := range procmgr.Follow(ctx, s.manager, s.id, opts) {
				if err != nil {
					yield(procmgr.Chunk{}, err)
					return
				}
				if chunk.Next > to { // fewer bytes are left than a chunk has room for at least
					chunk.Text, chunk.Next = first(chunk.Text, to-chunk.From), to
				}
				if !yield(chunk, nil) {
					return
				}
				if chunk.Next == from {
					return // an empty chunk: the output has gone
				}
				from = chunk.Next
				break
			}
		}
	}
}

// first returns the first n bytes of the stream of a text, in which U+FFFD is one.
func first(text string, n int64) string {
	for i, r := range text {
		if n <= 0 {
			return text[:i]
		}
		if n -= int64(utf8.RuneLen(r)); r == utf8.RuneError {
			n += 2
		}
	}
	return text
}

// serveOutput serves the output so far, as text.
func (v *View) serveOutput(w http.ResponseWriter, r *http.Request, s subject) {
	ctx := r.Context()
	out, err := s.manager.Output(ctx, s.id, procmgr.OutputRequest{From: math.MaxInt64})
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	for chunk, err := range s.chunks(ctx, 0, out.Next) {
		if err != nil {
			panic(http.ErrAbortHandler) // the caller must not take this for the end
		}
		extend(w)
		text := chunk.Text
		if chunk.Gap > 0 {
			text = fmt.Sprintf("\n\n... [omitted %d bytes] ...\n\n", chunk.Gap) + text
		}
		if _, err := io.WriteString(w, text); err != nil {
			return // the caller has gone
		}
	}
	_, _ = io.WriteString(w, out.Text) // the line that is still being redrawn
}

// servePart serves a part of the output for a page that has let go of it.
func (v *View) servePart(w http.ResponseWriter, r *http.Request, s subject) {
	ctx, q := r.Context(), r.URL.Query()
	to := number(q.Get("to"), math.MaxInt64)
	end, err := s.end(ctx)
	if err != nil {
		refuse(w, err)
		return
	}
	to = min(to, end)
	from := max(min(number(q.Get("from"), 0), to), to-maxPart)
	if from, err = s.start(ctx, from); err != nil {
		refuse(w, err)
		return
	}
	part := frame{From: from, Next: from}
	var text strings.Builder
	for chunk, err := range s.chunks(ctx, from, to) {
		if err != nil {
			refuse(w, err)
			return
		}
		if part.Gap += chunk.Gap; chunk.Gap > 0 && text.Len() == 0 {
			part.From = chunk.From
		}
		text.WriteString(chunk.Text)
		part.Next = chunk.Next
	}
	part.Text = text.String()
	answer(w, http.StatusOK, part)
}

// start returns the start of a rune at an offset or up to three bytes before it.
func (s subject) start(ctx context.Context, from int64) (int64, error) {
	for at := from; at > 0 && at > from-utf8.UTFMax; at-- {
		out, err := s.manager.Output(ctx, s.id, procmgr.OutputRequest{From: at, Limit: headtail.Limits{Bytes: 256}})
		if err != nil {
			return 0, err
		}
		if !strings.HasPrefix(out.Text, "\uFFFD") {
			return at, nil
		}
	}
	return from, nil
}

// serveSignal ends or interrupts a process, and answers with what it is then.
func (v *View) serveSignal(w http.ResponseWriter, r *http.Request, s subject) {
	var body struct {
		Signal procmgr.Signal `json:"signal"`
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1024))
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil {
		fail(w, http.StatusBadRequest, "the body is no JSON object with a signal")
		return
	}
	switch body.Signal {
	case procmgr.Terminate, procmgr.Interrupt, procmgr.Kill:
	default:
		fail(w, http.StatusBadRequest, "the signal is none: it is terminate, interrupt or kill")
		return
	}
	ctx := r.Context()
	// A signal to an unknown ID would spend the ID, which is not this page's purpose.
	if _, err := s.end(ctx); err != nil {
		refuse(w, err)
		return
	}
	err := s.manager.Signal(ctx, s.id, body.Signal)
	failed := ""
	if err != nil {
		failed = procmgr.Reason(err)
	}
	for until := time.Now().Add(endWait); err == nil; {
		out, err := s.manager.Output(ctx, s.id, procmgr.OutputRequest{From: math.MaxInt64, Wait: time.Until(until)})
		if err != nil || out.Process.State == procmgr.Exited || time.Until(until) <= 0 {
			break
		}
	}
	out, err := s.manager.Output(ctx, s.id, procmgr.OutputRequest{From: math.MaxInt64, Limit: headtail.Limits{Bytes: 1}})
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, http.StatusOK, struct {
		Process procmgr.Process `json:"process"`
		Error   string          `json:"error,omitempty"`
	}{out.Process, failed})
}
