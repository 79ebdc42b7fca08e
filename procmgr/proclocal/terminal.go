package proclocal

import (
	"sync"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/internal/screen"
)

// An inlet is the stdin of a process, and its terminal if it has one. It is the
// Sink of the process's output, and passes that on.
type inlet struct {
	out   osproc.Sink
	tree  *osproc.Input // set before anybody knows the process
	keys  inputKeys
	turn  chan struct{} // holds a token while a request writes
	owed  string        // the rest of a pasted text's marks; for the request that has the turn
	print printing

	// mu guards the fields below. It is held while output is drawn.
	mu      sync.Mutex
	stalled chan struct{}   // closed while the request that writes waits for room
	closed  bool            // a request has closed the pipe
	screen  *screen.Screen  // nil for a pipe, and once the output has ended
	last    *procmgr.Screen // then what it showed at last
	replies []byte          // of the screen to the program, not yet written
}

// newInlet returns the inlet of a process that is about to start.
func newInlet(req procmgr.StartRequest, out osproc.Sink) *inlet {
	in := &inlet{out: out, turn: make(chan struct{}, 1), stalled: make(chan struct{})}
	if req.Stdin == procmgr.StdinTerminal {
		size := sizeWithDefaults(req.Size)
		in.screen = screen.New(size.Cols, size.Rows)
	}
	return in
}

// Add implements osproc.Sink.
func (in *inlet) Add(p []byte) {
	if in.draw(p) {
		in.reply()
	}
	in.out.Add(p)
	in.print.note()
}

// Reading implements osproc.Tally.
func (in *inlet) Reading(most int) {
	if t, ok := in.out.(osproc.Tally); ok {
		t.Reading(most)
	}
}

// Took implements osproc.Tally.
func (in *inlet) Took(most, n int) {
	if t, ok := in.out.(osproc.Tally); ok {
		t.Took(most, n)
	}
}

// End implements osproc.Sink.
func (in *inlet) End() {
	in.mu.Lock()
	if in.screen != nil {
		in.last = in.show()
		in.screen = nil
	}
	in.mu.Unlock()
	in.out.End()
	in.print.note()
}

// maxReplies is how many bytes of replies wait at most. A program that asks and
// never reads gets no more of them.
const maxReplies = 4 << 10

// draw draws output on the screen. It reports whether the screen has replied.
func (in *inlet) draw(p []byte) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.screen == nil {
		return false
	}
	if reply := in.screen.Write(p); len(in.replies)+len(reply) <= maxReplies {
		in.replies = append(in.replies, reply...)
	}
	return len(in.replies) > 0
}

// look returns a copy of the screen, or nil if there is none.
func (in *inlet) look() *procmgr.Screen {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.screen != nil {
		return in.show()
	}
	if in.last == nil {
		return nil
	}
	last := *in.last
	last.Rows = append([]string(nil), last.Rows...)
	return &last
}

// show returns a copy of the screen. The caller holds mu.
func (in *inlet) show() *procmgr.Screen {
	v := in.screen.View()
	if v.Rows == nil {
		v.Rows = []string{}
	}
	return &procmgr.Screen{Rows: v.Rows, Row: v.Row, Col: v.Col, Alternate: in.screen.Modes().Alternate, Stale: v.Stale}
}

// modes returns what the program has asked of the terminal.
func (in *inlet) modes() screen.Modes {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.screen == nil {
		return screen.Modes{}
	}
	return in.screen.Modes()
}

// A printing tells when a process prints.
type printing struct {
	mu    sync.Mutex // guards the fields below
	count int64      // pieces of output
	last  time.Time
	news  chan struct{} // closed at the next piece; nil if nobody waits
}

func (p *printing) note() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	p.last = time.Now()
	if p.news != nil {
		close(p.news)
		p.news = nil
	}
}

// look returns how many pieces there were, when the last one came, and a channel
// that is closed at the next one.
func (p *printing) look() (count int64, last time.Time, news <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.news == nil {
		p.news = make(chan struct{})
	}
	return p.count, p.last, p.news
}
