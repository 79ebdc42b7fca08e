package procview

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// every is the shortest time between two frames of one kind in a stream: a page
	// need not repaint more often.
	every = 200 * time.Millisecond
	// maxBehind is how far a page may lie behind the output, and kept how much of its
	// end the page then gets.
	maxBehind, kept = 2 << 20, 512 << 10
	// silence is how long a stream says nothing at all. A proxy may take a longer one
	// for the end.
	silence = 15 * time.Second
	// listed is how many processes the first listing of a stream has, and batch how
	// many changes one frame has.
	listed, batch = 200, 200
	// searchEvery is the shortest time between two searches for the highlights of a
	// process that prints.
	searchEvery = 5 * time.Second
	// maxHighlights is how many bytes of highlights a page gets.
	maxHighlights = 16 << 10
	// maxFound is of how many processes highlights are remembered.
	maxFound = 256
)

// A frame is a part of an output.
type frame struct {
	Text string `json:"text"`
	Live string `json:"live,omitempty"`
	From int64  `json:"from"`
	Next int64  `json:"next"`
	// Gap is how many bytes before From are lost. Skip is how many are left out
	// because the page lies behind; they can be read with ID/part.
	Gap     int64            `json:"gap,omitempty"`
	Skip    int64            `json:"skip,omitempty"`
	Process *procmgr.Process `json:"process,omitempty"`
}

// An event is one Server-Sent Event.
type event struct {
	name, id string
	data     any
}

// A sender writes the events of one stream. One goroutine at a time may use it.
type sender struct {
	w http.ResponseWriter
	c *http.ResponseController
}

// begin begins a stream.
func begin(w http.ResponseWriter) sender {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	w.WriteHeader(http.StatusOK)
	return sender{w, http.NewResponseController(w)}
}

func (s sender) send(e event) error {
	data, err := json.Marshal(e.data)
	if err != nil {
		return err
	}
	text := "event: " + e.name + "\n"
	if e.id != "" {
		text += "id: " + e.id + "\n"
	}
	return s.write(fmt.Sprintf("%sdata: %s\n\n", text, data)) // JSON has no line end
}

func (s sender) write(text string) error {
	extend(s.w)
	if _, err := io.WriteString(s.w, text); err != nil {
		return err
	}
	return s.c.Flush()
}

// lasts returns a context that ends with a request, or when the server is about to end.
func (v *View) lasts(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(v.opts.Context, cancel)
	return ctx, func() { stop(); cancel() }
}

func chunkEvent(c procmgr.Chunk, skip int64) event {
	return event{"chunk", strconv.FormatInt(c.Next, 10), frame{Text: c.Text, Live: c.Live, From: c.From, Next: c.Next, Gap: c.Gap, Skip: skip, Process: &c.Process}}
}

// give hands an event over. It reports whether ctx has not ended.
func give(ctx context.Context, to chan<- event, e event) bool {
	select {
	case to <- e:
		return true
	case <-ctx.Done():
		return false
	}
}

// serveStream serves what a page reads: the processes, and the output of the one that
// it shows. The query names that: id and chat. Last-Event-ID is the offset up to which
// the page has its output.
func (v *View) serveStream(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := v.lasts(r)
	defer cancel()
	q := r.URL.Query()
	k := key{q.Get("chat"), q.Get("id")}
	v.watch.enter(ctx)
	defer v.watch.leave()
	if ctx.Err() != nil {
		return
	}
	events := make(chan event)
	var follow sync.WaitGroup
	defer follow.Wait()
	defer cancel()
	if k.id != "" {
		f := &follower{v: v, key: k, subject: subject{k.id, k.chat, v.watch.of(k)}, events: events, at: number(r.Header.Get("Last-Event-ID"), -1)}
		follow.Go(func() { f.run(ctx) })
	}
	s := begin(w)
	list, version := v.watch.page(q.Get("q"), 0, listed)
	if s.send(event{"list", "", struct {
		listPage
		ReadOnly bool `json:"read_only"`
	}{list, v.opts.ReadOnly}}) != nil {
		return
	}
	if k.id != "" {
		if one, ok := v.watch.get(k); ok && s.send(event{"processes", "", []record{one}}) != nil {
			return
		}
	}
	v.serveNews(ctx, s, k, version, events)
}

// serveNews sends the calls, and what changes from a version on, until ctx ends or the page
// has gone.
func (v *View) serveNews(ctx context.Context, s sender, k key, version int64, events <-chan event) {
	trouble, n, call := "", int64(-1), int64(0)
	quiet := time.NewTicker(silence)
	defer quiet.Stop()
	for {
		read := v.told.heard()
		changed, why, now, whole, heard := v.watch.since(version, batch)
		version = now
		news := make([]event, 0, 5)
		if whole {
			var page listPage
			page, version = v.watch.page("", 0, listed)
			news = append(news, event{"list", "", page})
		} else if len(changed) > 0 {
			news = append(news, event{"processes", "", changed})
		}
		if why != trouble {
			trouble = why
			news = append(news, event{"trouble", "", map[string]string{"error": trouble}})
		}
		if calls := v.told.callsSince(call); len(calls) > 0 {
			call = calls[len(calls)-1].N
			news = append(news, event{"calls", "", calls})
		}
		if k.id != "" {
			var of *transcript
			if of, n = v.told.since(k, n); of != nil {
				news = append(news, event{"reading", "", of})
				if one, ok := v.watch.get(k); ok {
					news = append(news, event{"processes", "", []record{one}})
				}
			}
		}
		for _, e := range news {
			if s.send(e) != nil {
				return
			}
		}
		// The next news come no sooner than this.
		pause := time.NewTimer(every)
		paused := pause.C
		for waiting := true; waiting; {
			ring, told := heard, read
			if paused != nil {
				ring, told = nil, nil
			}
			var err error
			select {
			case <-paused:
				paused = nil
			case <-ring:
				waiting = false
			case <-told:
				waiting = false
			case e := <-events:
				err = s.send(e)
			case <-quiet.C:
				err = s.write(":\n\n")
			case <-ctx.Done():
				err = ctx.Err()
			}
			if err != nil {
				pause.Stop()
				return
			}
		}
	}
}

// A follower follows the process that a page shows.
type follower struct {
	subject
	v        *View
	key      key
	events   chan<- event
	at       int64 // the offset up to which the page has the output; negative for nothing
	searched time.Time
}

// errBehind ends a Follow that cannot keep up.
var errBehind = errors.New("the page lies behind")

// run follows until the process has exited or ctx ends. serveStream waits for it.
func (f *follower) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := f.follow(ctx)
		switch {
		case err == nil:
			return
		case errors.Is(err, errBehind), ctx.Err() != nil:
			continue
		}
		name := "trouble"
		if errors.Is(err, procmgr.ErrNotFound) {
			name = "gone"
		}
		if !give(ctx, f.events, event{name, "", map[string]string{"error": procmgr.Reason(err)}}) || name == "gone" {
			return
		}
		sleep(ctx, poll)
	}
}

// follow follows until the process has exited, or returns an error.
func (f *follower) follow(ctx context.Context) error {
	end, err := f.end(ctx)
	if err != nil {
		return err
	}
	var skip int64
	if from := max(f.at, 0); end-from > maxBehind {
		to, err := f.start(ctx, end-kept)
		if err != nil {
			return err
		}
		skip = to - from
		f.at = to
	}
	for chunk, err := range procmgr.Follow(ctx, f.manager, f.id, &procmgr.FollowOptions{From: max(f.at, 0), Every: every, Limit: maxPart}) {
		if err != nil {
			return err
		}
		if !give(ctx, f.events, chunkEvent(chunk, skip)) {
			return ctx.Err()
		}
		f.at, skip = chunk.Next, 0
		if chunk.Process.Stdin == procmgr.StdinTerminal {
			f.screen(ctx)
		}
		over := chunk.Process.State == procmgr.Exited
		if over || time.Since(f.searched) >= searchEvery {
			f.searched = time.Now()
			if found := f.v.highlights(ctx, f.subject, f.key); found != nil && !give(ctx, f.events, event{"highlights", "", found}) {
				return ctx.Err()
			}
		}
		if len(chunk.Text) > maxPart/2 {
			if end, err := f.end(ctx); err == nil && end-f.at > maxBehind {
				return errBehind
			}
		}
	}
	return nil
}

// screen sends what a terminal shows.
func (f *follower) screen(ctx context.Context) {
	out, err := f.manager.Output(ctx, f.id, procmgr.OutputRequest{From: math.MaxInt64, Screen: true, Limit: headtail.Limits{Bytes: 1}})
	if err == nil && out.Screen != nil {
		give(ctx, f.events, event{"screen", "", out.Screen})
	}
}

// A highlights is the highlights of an output, found when the output ended at offset
// next.
type highlights struct {
	next int64
	all  []procmgr.Highlight
}

// highlights returns the lines of a process's log that tell of trouble. One search runs
// at a time, and serves all pages.
func (v *View) highlights(ctx context.Context, s subject, k key) []procmgr.Highlight {
	v.searching.Lock()
	defer v.searching.Unlock()
	end, err := s.end(ctx)
	known, ok := v.found[k]
	if err != nil || ok && known.next == end {
		return known.all
	}
	out, err := s.manager.Output(ctx, s.id, procmgr.OutputRequest{Limit: headtail.Limits{Bytes: 1}, Highlight: maxHighlights})
	if err != nil {
		return known.all
	}
	if len(v.found) >= maxFound {
		clear(v.found)
	}
	v.found[k] = highlights{end, out.Highlights}
	return out.Highlights
}
