package holder

import (
	"time"

	"golang.org/x/sys/unix"
)

// took handles a message of a keeper. A message that cannot be read is left out:
// only another version could have sent it.
func (h *holder) took(c *child, p *parcel) {
	r := &reading{rest: p.data[1:]}
	kind := p.data[0]
	if c == h.next {
		if kind == tellChecked {
			h.checked(c, r.text())
		}
		return
	}
	if c != h.now {
		return
	}
	switch kind {
	case tellGive:
		h.give(h.Logger, r, p)
	case tellDrop:
		for r.more() {
			if seq, role := r.number(), r.text(); !r.bad {
				h.drop(seq, role)
			}
		}
	case tellLeaders:
		for r.more() {
			if seq, pid := r.number(), int(r.number()); !r.bad {
				h.leader(seq, pid)
			}
		}
	case tellAwait:
		h.await(r.number(), int(r.number()))
		h.tellEnds()
	case tellSettle:
		h.unsure = h.unsure || r.more() && r.number() == unwritten
		h.settle(c)
	case tellUpgrade:
		h.upgrade(c, r.rest, p)
	case tellCancel:
		h.dropNext()
		h.offer(nil)
	case tellState:
		if h.offer(p.takeFile(0)) {
			h.say(c, message{sayStored})
		}
	case tellCommit:
		if h.commit() {
			h.after("commit", commitTime, func() { _ = unix.Kill(c.pid, unix.SIGKILL) }) // it is our child, and not reaped
		}
	case tellEnd:
		h.ending = true
	}
}

// say sends a short message to a child. If the child does not take it, that is
// the child's loss.
func (h *holder) say(c *child, m message) { _ = c.conn.send(m, nil, time.Second) }

// tellEnds tells the keeper the ends that it does not know yet.
func (h *holder) tellEnds() {
	for len(h.unsent) > 0 && h.now != nil && !h.now.dead {
		seq := h.unsent[0]
		m := message{sayEnded}.number(seq)
		if e := h.ends[seq]; e != nil {
			m = m.end(e)
		}
		sent, err := h.now.conn.try(m)
		if err != nil {
			return // it has ended; the next one asks
		}
		if !sent {
			h.after("ends", resendTime, h.tellEnds)
			return
		}
		h.unsent = h.unsent[1:]
	}
}
