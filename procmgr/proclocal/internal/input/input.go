// Package input writes to the stdin of a process, and draws its terminal if it has
// one: one request at a time, each key once, and no text as a part of another one.
package input

import (
	"strconv"
	"sync"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
	"github.com/toolproc/toolproc/procmgr/internal/idempotency"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/internal/redact"
	"github.com/toolproc/toolproc/procmgr/internal/screen"
)

// An Inlet is the stdin of a process, and its terminal if it has one. It is the
// Sink of the process's output, and passes that on.
type Inlet struct {
	out      *capture.Stream
	exited   func() bool   // nothing is left of the process
	terminal bool          // it is no pipe
	masks    *redact.Set   // what the screen does not show
	tree     *osproc.Input // set before anybody knows the process
	turn     chan struct{} // holds a token while a request writes
	owed     string        // the rest of a pasted text's marks; for the request that has the turn

	// mu guards the fields below. It is held while output is drawn.
	mu        sync.Mutex
	closed    bool            // a request has closed the pipe
	screen    *screen.Screen  // nil for a pipe, and once the output has ended
	last      *procmgr.Screen // then what it showed at last
	replies   []byte          // of the screen to the program, not yet written
	prints    int64           // pieces of output
	printedAt time.Time       // when the last one came
	writes    int64           // how often the process was written to
	writtenAt time.Time       // when it was, the last time
}

// New returns the Inlet of a process that is about to start, whose output goes to out.
// exited reports whether nothing is left of the process. The screen does not show the
// values of masks; nil for none.
func New(req procmgr.StartRequest, out *capture.Stream, exited func() bool, masks *redact.Set) *Inlet {
	in := &Inlet{
		out: out, exited: exited, terminal: req.Stdin == procmgr.StdinTerminal, masks: masks,
		turn: make(chan struct{}, 1),
	}
	if in.terminal {
		in.screen = screen.New(Cols, Rows)
	}
	return in
}

// Open gives the Inlet the system's side of it, before anybody knows the process.
func (in *Inlet) Open(tree *osproc.Input) { in.tree = tree }

// Add implements osproc.Sink.
func (in *Inlet) Add(p []byte) {
	if in.draw(p) {
		in.reply()
	}
	in.out.Add(p)
	in.printed()
}

// End implements osproc.Sink.
func (in *Inlet) End() {
	in.mu.Lock()
	if in.screen != nil {
		in.last = in.show()
		in.screen = nil
	}
	in.mu.Unlock()
	in.out.End()
	in.printed()
}

// printed notes a piece of output that can be read.
func (in *Inlet) printed() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.prints++
	in.printedAt = time.Now()
}

// maxReplies is how many bytes of replies wait at most. A program that asks and
// never reads gets no more of them.
const maxReplies = 4 << 10

// draw draws output on the screen. It reports whether the screen has replied.
func (in *Inlet) draw(p []byte) bool {
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

// Screen returns a copy of the screen, or nil if there is none.
func (in *Inlet) Screen() *procmgr.Screen {
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

// show returns a copy of the screen, or nil if that could not be drawn. The caller
// holds mu.
func (in *Inlet) show() *procmgr.Screen {
	v := in.screen.View()
	if v == nil {
		return nil
	}
	if v.Rows == nil {
		v.Rows = []string{}
	}
	return &procmgr.Screen{Rows: in.masks.MaskRows(v.Rows, Cols, v.Row, v.Col), Row: v.Row, Col: v.Col, Alternate: in.screen.Modes().Alternate}
}

// modes returns what the program has asked of the terminal.
func (in *Inlet) modes() screen.Modes {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.screen == nil {
		return screen.Modes{}
	}
	return in.screen.Modes()
}

// The size of a terminal in characters.
const (
	Cols = 120
	Rows = 40
)

// Kind returns the system's word for a stdin.
func Kind(s procmgr.Stdin) osproc.Stdin {
	switch s {
	case procmgr.StdinPipe:
		return osproc.StdinPipe
	case procmgr.StdinTerminal:
		return osproc.StdinTerminal
	}
	return osproc.StdinEmpty
}

// Active returns when the process has last printed or was written to, and how often it
// was written to.
func (in *Inlet) Active() (at time.Time, writes int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if at = in.printedAt; in.writtenAt.After(at) {
		at = in.writtenAt
	}
	return at, in.writes
}

// quietAtLast is how long UntilQuiet waits for the first output.
const quietAtLast = 2 * time.Second

// Quiet reports whether the output after a write has been quiet for so long, and if not,
// when to ask again.
func (in *Inlet) Quiet(w *Receipt, quiet time.Duration) (is bool, pause time.Duration) {
	in.mu.Lock()
	prints, last := in.prints, in.printedAt
	in.mu.Unlock()
	at := w.at.Add(quietAtLast)
	if prints > w.prints {
		if last.Before(w.at) {
			last = w.at
		}
		at = last.Add(quiet)
	}
	left := time.Until(at)
	return left <= 0, max(min(left, quiet), time.Millisecond) // the first output may come meanwhile
}

// A Receipt says what a request has written.
type Receipt struct {
	Before capture.Mark // the end of the output before the write
	N      int          // bytes of Data
	Err    error        // why not all was written
	Closed bool         // it has closed the pipe
	prints int64        // pieces of output before the write
	at     time.Time    // after the write
}

// FingerprintOf returns the fingerprint of what a request writes.
func FingerprintOf(req procmgr.InputRequest) idempotency.Fingerprint {
	parts := []string{"input", strconv.FormatBool(req.Close), strconv.FormatBool(req.Secret), string(req.Data)}
	for _, k := range req.Keys {
		parts = append(parts, string(k))
	}
	return idempotency.FingerprintOf(parts...)
}
