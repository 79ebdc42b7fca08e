package holder

import (
	"cmp"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"
)

// A Config says what a holder starts.
type Config struct {
	// Args and Env are the keeper's. Its program is this one, until an upgrade
	// names another one.
	Args, Env []string
	// Order is what each keeper reads from its descriptor FDOrder.
	Order []byte
	// Report is the first keeper's FDReport.
	Report *os.File
	// Failed is told why the first keeper has ended, if it has never served.
	Failed func(why string)
	// MaxDeaths is how many keepers may die one after the other: 2,000 by default.
	// Each second of service makes up for one.
	MaxDeaths int
	Logger    *slog.Logger
}

// Supported reports whether there are holders on this system.
const Supported = true

// The descriptors of a keeper.
const (
	FDOrder  = 3
	FDReport = 4
	FDLink   = 5
)

// resendTime is how long the holder waits before it tells an end again to a keeper
// that takes nothing.
const resendTime = 100 * time.Millisecond

// A holder is the state of Run. One goroutine has it; the others read messages.
type holder struct {
	Config
	succession
	holdings
	alarms

	keeps    bool         // nothing is reaped
	unsure   bool         // a child was reaped of which no journal may know
	term     bool         // the next keeper is to end as soon as it serves
	trapped  map[int]bool // children that were killed before their first instruction, and are not reaped
	messages chan received
	over     bool
}

// Run is the holder. It returns when the keeper has ended for good, and then ends
// everything that only it holds: the caller exits.
func Run(c Config) error {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(25)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return xerrors.Errorf("the system has no subreapers: %w", err)
	}
	program, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	h := &holder{
		Config: c, succession: succession{program: program, mortality: mortality{limit: cmp.Or(c.MaxDeaths, maxDeaths)}}, holdings: newHoldings(), alarms: newAlarms(),
		messages: make(chan received), trapped: make(map[int]bool),
	}
	return h.run()
}

func (h *holder) run() error {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // it does not end the holder
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, syscall.SIGTERM, syscall.SIGINT)
	var err error
	if h.now, err = h.start(h.program, h.Report); err != nil {
		return err
	}
	h.hand(h.now)
	debug.FreeOSMemory()
	for !h.over {
		select {
		case m := <-h.messages:
			if m.parcel == nil {
				m.from.drained = true
				h.closed(m.from)
			} else {
				h.took(m.from, m.parcel)
				m.parcel.close()
			}
		case <-children:
			h.reap()
		case <-terms:
			h.term = true
			if h.now != nil && !h.now.served.IsZero() {
				_ = unix.Kill(h.now.pid, unix.SIGTERM) // it is our child, and not reaped
			}
		case do := <-h.due:
			do()
		}
	}
	if h.next != nil && !h.next.dead {
		_ = unix.Kill(h.next.pid, unix.SIGKILL) // it is our child, and not reaped
	}
	return nil
}

// reap reaps what has ended, as far as that is allowed now.
func (h *holder) reap() {
	h.killTrapped()
	for _, c := range []*child{h.now, h.next} {
		if c == nil || c.dead {
			continue
		}
		if e, ok := reap(c.pid); ok {
			c.dead, c.status = true, e
			if c == h.now {
				h.keeps, h.peak = true, max(h.peak, e.MaxRSS)
			}
			if c.drained {
				h.closed(c)
			} else {
				c.conn.finish()
			}
		}
	}
	for !h.keeps {
		pid := ended()
		switch {
		case pid == 0:
			return
		case h.now != nil && pid == h.now.pid, h.next != nil && pid == h.next.pid:
			h.after("reap", time.Millisecond, h.reap)
			return
		case h.now == nil || gone(h.now.pid):
			h.keeps = true // it may be one of the keeper's, which is about to end
			return
		}
		if e, ok := reap(pid); ok {
			delete(h.trapped, pid)
			h.ended(pid, &e)
			h.tellEnds()
		}
	}
}
