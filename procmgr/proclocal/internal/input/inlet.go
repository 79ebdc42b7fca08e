package input

import (
	"sync"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
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
	print    printing

	// mu guards the fields below. It is held while output is drawn.
	mu      sync.Mutex
	stalled chan struct{}   // closed while the request that writes waits for room
	closed  bool            // a request has closed the pipe
	screen  *screen.Screen  // nil for a pipe, and once the output has ended
	last    *procmgr.Screen // then what it showed at last
	replies []byte          // of the screen to the program, not yet written
}

// New returns the Inlet of a process that is about to start, whose output goes to out.
// exited reports whether nothing is left of the process. The screen does not show the
// values of masks; nil for none.
func New(req procmgr.StartRequest, out *capture.Stream, exited func() bool, masks *redact.Set) *Inlet {
	in := &Inlet{
		out: out, exited: exited, terminal: req.Stdin == procmgr.StdinTerminal, masks: masks,
		turn: make(chan struct{}, 1), stalled: make(chan struct{}),
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
	in.print.note()
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
	in.print.note()
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

// show returns a copy of the screen. The caller holds mu.
func (in *Inlet) show() *procmgr.Screen {
	v := in.screen.View()
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
