package holder

import (
	"log/slog"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// checkTime is how long the program of an upgrade may take to start and to
	// check the state.
	checkTime = 20 * time.Second
	// commitTime is how long a keeper may take to end after it has given its
	// state.
	commitTime = 5 * time.Second
	// leaveTime is how long a keeper may live after it has closed its connection.
	leaveTime = 2 * time.Second
)

// A succession is who is the keeper, who is the next one, and what the next one is
// started with.
type succession struct {
	now     *child
	next    *child   // of an upgrade
	program *os.File // what is started after a crash
	earlier *os.File // that of before the last upgrade, until the new one serves
	offered *os.File // a state that is not committed
	state   *os.File // a state that counts, until it was taken over

	ending     bool // for good: if the keeper is killed, the next one goes on with that
	began      bool // a keeper has served
	generation int  // how many keepers have got what is held
	mortality
}

// offer notes a state in place of the one that was offered before; nil takes that
// back. It reports whether there is one.
func (s *succession) offer(state *os.File) bool {
	discard(&s.offered)
	s.offered = state
	return state != nil
}

// commit lets the state count that was offered. It reports false if none was.
func (s *succession) commit() bool {
	if s.offered == nil {
		return false
	}
	discard(&s.state)
	s.state, s.offered = s.offered, nil
	return true
}

// upgraded reports whether the next keeper can take the state over from one that
// has ended.
func (s *succession) upgraded(c *child) bool {
	return s.state != nil && !c.stated && s.next != nil && !s.next.checks
}

// closed is called when a child says nothing any more: it has ended, or it has
// closed the connection.
func (h *holder) closed(c *child) {
	switch {
	case c != h.now && c != h.next:
		c.conn.close()
	case !c.dead:
		h.after("leave "+strconv.Itoa(c.pid), leaveTime, func() {
			if c.dead {
				return
			}
			// It goes on without a holder, and starts things that nobody tells.
			h.Logger.Warn("the keeper has left its holder", slog.Int("pid", c.pid))
			if c == h.now {
				h.over = true
			} else if c == h.next {
				h.nextFailed("it has closed its connection")
			}
		})
		h.reap() // most often it has just ended
	case c == h.next:
		c.conn.close()
		h.nextFailed("it has ended (" + say(c.status) + ")")
	default:
		c.conn.close()
		h.unset("commit")
		h.now = nil
		h.follow(c)
	}
}

// follow lets the next keeper follow one that has ended.
func (h *holder) follow(c *child) {
	h.offer(nil)
	h.unsent = nil // the next one asks
	switch {
	case h.ending && c.status.Signal == 0 && c.status.Code == 0:
		h.over = true
		return
	case !h.began:
		if h.Failed != nil {
			h.Failed(say(c.status))
		}
		h.over = true
		return
	case h.upgraded(c):
		h.unset("check")
		h.now, h.next = h.next, nil
		h.earlier, h.program = h.program, h.now.program
		h.hand(h.now)
		return
	case h.next != nil:
		h.Logger.Warn("the keeper has ended during an upgrade")
		h.dropNext()
	}
	h.died(c.served)
	if c.stated && c.served.IsZero() && h.earlier != nil {
		_ = h.program.Close() // it could not go on, and the one before it can
		h.program, h.earlier = h.earlier, nil
	} else if c.stated && h.unserved > 2 {
		discard(&h.state)
	}
	h.Logger.Warn("the keeper has died", slog.Int("pid", c.pid), slog.String("status", say(c.status)), slog.Int("deaths", h.deaths))
	if h.hopeless() {
		h.Logger.Error("keepers die again and again, and no other one is started")
		h.over = true
		return
	}
	pause := h.pause()
	if pause == 0 {
		h.restart()
		return
	}
	h.after("restart", pause, h.restart)
}

func (h *holder) restart() {
	c, err := h.start(h.program, nil)
	if err != nil {
		h.Logger.Error("the keeper cannot be started again", slog.String("error", err.Error()))
		if h.unserved++; h.unserved >= maxUnserved {
			h.over = true
			return
		}
		h.after("restart", unservedPause<<h.unserved, h.restart)
		return
	}
	h.now = c
	h.hand(c)
}

func discard(f **os.File) {
	if *f != nil {
		_ = (*f).Close() // nobody needs it
		*f = nil
	}
}

// settle notes that a keeper serves: it has found all that it knows of, and the
// others can be reaped.
func (h *holder) settle(c *child) {
	if c.served.IsZero() {
		c.served = time.Now()
	}
	h.began = true
	h.unserved, c.stated = 0, false
	discard(&h.Report)
	discard(&h.state)
	discard(&h.earlier)
	h.keeps = false
	h.reap()
	if h.term {
		_ = unix.Kill(c.pid, unix.SIGTERM) // it is our child, and not reaped
	}
}

// upgrade starts the next program beside the keeper, and lets it check.
func (h *holder) upgrade(c *child, check []byte, p *parcel) {
	program := p.takeFile(0)
	switch {
	case program == nil:
		h.say(c, message{sayReady}.text("its program was not received"))
		return
	case h.next != nil:
		_ = program.Close() // it is not needed
		h.say(c, message{sayReady}.text("another upgrade is under way"))
		return
	}
	next, err := h.start(program, nil)
	if err != nil {
		_ = program.Close() // it is not needed
		h.say(c, message{sayReady}.text(err.Error()))
		return
	}
	next.checks = true
	h.next = next
	h.say(next, append(message{sayCheck}.number(Version), check...))
	h.after("check", checkTime, func() { h.nextFailed("it has not answered for " + checkTime.String()) })
}

// checked is called when the next program says whether it can go on.
func (h *holder) checked(c *child, wrong string) {
	if wrong != "" {
		h.nextFailed(wrong)
		return
	}
	c.checks = false
	h.unset("check")
	if h.now != nil {
		h.say(h.now, message{sayReady}.text(""))
	}
}

// nextFailed gives up an upgrade. If the keeper has given its state already, its
// own program takes over.
func (h *holder) nextFailed(why string) {
	h.dropNext()
	if h.now != nil {
		h.say(h.now, message{sayReady}.text(why))
	}
}

// dropNext ends the next program.
func (h *holder) dropNext() {
	h.unset("check")
	if c := h.next; c != nil {
		h.next = nil
		if !c.dead {
			_ = unix.Kill(c.pid, unix.SIGKILL) // it is our child, and not reaped
			c.conn.finish()
		}
		if c.program != h.program {
			_ = c.program.Close() // nobody starts it any more
		}
	}
}
