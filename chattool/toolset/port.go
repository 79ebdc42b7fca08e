package toolset

import (
	"strconv"
	"strings"
	"time"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

// heard adds the result of wait_for_port to the note, and reports whether the
// process listens on that port.
func (r *report) heard(out procmgr.Output, port int, wait time.Duration) bool {
	if port == 0 {
		return false
	}
	others := make([]string, 0, len(out.Listening))
	for _, l := range out.Listening {
		if portOf(l) == port {
			r.Add("It listens on port %d (%s, pid %d).", port, l.Addr, l.PID)
			return true
		}
		others = append(others, l.Addr)
	}
	rest := "; it listens on no port"
	if len(others) > 0 {
		rest = "; it listens on " + wording.Clip(strings.Join(others, ", "), maxMatched)
	}
	switch out.Process.State {
	case procmgr.Exited:
		r.Add("The process ended and does not listen on port %d.", port)
	case procmgr.Detached:
		r.Add("It does not listen on port %d, and the shell has ended%s.", port, rest)
	default:
		r.Add("It does not listen on port %d after %s%s.", port, wording.Duration(wait), rest)
	}
	return false
}

// portOf returns the port of a socket, or 0.
func portOf(l procmgr.Socket) int {
	port, err := strconv.Atoi(l.Addr[strings.LastIndexByte(l.Addr, ':')+1:])
	if err != nil {
		return 0
	}
	return port
}
