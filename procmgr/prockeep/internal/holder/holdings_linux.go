package holder

import (
	"log/slog"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr/internal/carry"
)

// holdings are what a keeper has given the holder, and the ends of its processes.
type holdings struct {
	held    map[uint64][]held
	awaited map[uint64]int // numbers of leaders, by seq
	seqs    map[int]uint64 // the other way round
	ends    map[uint64]*carry.Status
	unsent  []uint64 // of ends
	peak    int64    // of the keepers' memory: Linux counts it as that of what they fork
}

func newHoldings() holdings {
	return holdings{
		held: make(map[uint64][]held), awaited: make(map[uint64]int),
		seqs: make(map[int]uint64), ends: make(map[uint64]*carry.Status),
	}
}

type held struct {
	role string
	fd   int
}

// give takes files over, in place of those of the same role.
func (h *holdings) give(log *slog.Logger, r *reading, p *parcel) {
	seq := r.number()
	for i := 0; r.more(); i++ {
		role := r.text()
		fd := p.take(i)
		h.drop1(seq, role)
		if fd < 0 {
			log.Warn("a descriptor was not received", slog.String("role", role))
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
func (h *holdings) drop(seq uint64, role string) {
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

func (h *holdings) drop1(seq uint64, role string) {
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
func (h *holdings) await(seq uint64, pid int) {
	if _, known := h.ends[seq]; !known {
		if h.leader(seq, pid) {
			return
		}
		h.ends[seq] = nil
	}
	h.unsent = append(h.unsent, seq)
}

// leader notes the leader of a process, so that its end is kept. It reports false
// if that is no child of this program. Of several processes with the same number,
// the last one has it.
func (h *holdings) leader(seq uint64, pid int) bool {
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

// ended notes the end of a child, if it is an awaited leader.
func (h *holdings) ended(pid int, e *carry.Status) {
	seq, awaited := h.seqs[pid]
	if !awaited {
		return
	}
	if e.MaxRSS <= h.peak {
		e.MaxRSS = 0
	}
	delete(h.seqs, pid)
	h.ends[seq] = e
	h.unsent = append(h.unsent, seq)
}
