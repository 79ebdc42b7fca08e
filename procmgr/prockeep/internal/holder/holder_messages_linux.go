package holder

import (
	"log/slog"
	"slices"
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
		h.give(r, p)
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
	case tellSettle:
		h.unsure = h.unsure || r.more() && r.number() == unwritten
		h.settle(c)
	case tellUpgrade:
		h.upgrade(c, r.rest, p)
	case tellCancel:
		h.dropNext()
		discard(&h.offered)
	case tellState:
		discard(&h.offered)
		if h.offered = p.takeFile(0); h.offered != nil {
			h.say(c, message{sayStored})
		}
	case tellCommit:
		if h.offered != nil {
			discard(&h.state)
			h.state, h.offered = h.offered, nil
			h.after("commit", commitTime, func() { _ = unix.Kill(c.pid, unix.SIGKILL) }) // it is our child, and not reaped
		}
	case tellEnd:
		c.final = true
	}
}

// say sends a short message to a child. If the child does not take it, that is
// the child's loss.
func (h *holder) say(c *child, m message) { _ = c.conn.send(m, nil, time.Second) }

// give takes files over, in place of those of the same role.
func (h *holder) give(r *reading, p *parcel) {
	seq := r.number()
	for i := 0; r.more(); i++ {
		role := r.text()
		fd := p.take(i)
		h.drop1(seq, role)
		if fd < 0 {
			h.Logger.Warn("a descriptor was not received", slog.String("role", role))
			continue
		}
		h.held[seq] = append(h.held[seq], held{role, fd})
	}
}

// roleAll and roleEnd are what a keeper drops in place of a role: all files of a
// process, and its end too.
const (
	roleAll = "*"
	roleEnd = ""
)

// drop closes the files of a role, or all of a process.
func (h *holder) drop(seq uint64, role string) {
	if role != roleAll && role != roleEnd {
		h.drop1(seq, role)
		return
	}
	for _, f := range h.held[seq] {
		_ = unix.Close(f.fd) // nobody needs it
	}
	delete(h.held, seq)
	if role == roleAll {
		return
	}
	if pid, ok := h.awaited[seq]; ok {
		if h.seqs[pid] == seq {
			delete(h.seqs, pid)
		}
		delete(h.awaited, seq)
		delete(h.ends, seq)
	}
}

func (h *holder) drop1(seq uint64, role string) {
	h.held[seq] = slices.DeleteFunc(h.held[seq], func(f held) bool {
		if f.role != role {
			return false
		}
		_ = unix.Close(f.fd) // nobody needs it
		return true
	})
	if len(h.held[seq]) == 0 {
		delete(h.held, seq)
	}
}

// await notes a leader for which the keeper waits. An end that is known already is
// told again. Somebody else's child ends unknown.
func (h *holder) await(seq uint64, pid int) {
	if _, known := h.ends[seq]; !known {
		if h.leader(seq, pid) {
			return
		}
		h.ends[seq] = nil
	}
	h.unsent = append(h.unsent, seq)
	h.tellEnds()
}

// leader notes the leader of a process, so that its end is kept. It reports false
// if that is no child of this program. Of several processes with the same number,
// the last one has it.
func (h *holder) leader(seq uint64, pid int) bool {
	if _, known := h.ends[seq]; known || !isChild(pid) {
		return false
	}
	if other, ok := h.awaited[seq]; ok && h.seqs[other] == seq {
		delete(h.seqs, other)
	}
	h.awaited[seq], h.seqs[pid] = pid, seq
	return true
}

// isChild reports whether a process is a child of this one that is not reaped.
func isChild(pid int) bool {
	err := error(unix.EINTR)
	for err == unix.EINTR {
		err = unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	}
	return err == nil
}

// settle notes that a keeper serves: it has found all that it knows of, and the
// others can be reaped.
func (h *holder) settle(c *child) {
	if c.served.IsZero() {
		c.served = time.Now()
	}
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
