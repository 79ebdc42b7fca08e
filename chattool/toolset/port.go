package toolset

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/chattool/toolset/internal/notices"
	"github.com/toolproc/toolproc/headtail"
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

var (
	// inUse matches the line by which a program says that its port is taken.
	inUse = regexp.MustCompile(`(?i)address (?:is )?already in use|EADDRINUSE|\bport \d+ is (?:already )?(?:in use|allocated|taken)`)
	// errno matches the number of that error, which is no port.
	errno  = regexp.MustCompile(`(?i)errno:? ?-?\d+|os error \d+|\(\d+\)`)
	digits = regexp.MustCompile(`\d+`)
)

const (
	// maxHolders is how many processes are asked for their ports.
	maxHolders = 16
	// holderTime is how long these calls may take in all.
	holderTime = 2 * time.Second
)

// tellHolder says which process of the chat holds the port that a failed command
// wanted. It says nothing if the manager cannot tell ports, or if none of the
// chat's processes holds that port.
func (k *kit) tellHolder(ctx context.Context, rep *report, t *notices.Turn, out procmgr.Output) {
	if !failed(out.Process) {
		return
	}
	says, ok := portTaken(out.Text)
	if !ok {
		return
	}
	wanted := portsIn(says)
	if len(wanted) == 0 {
		wanted = portsIn(out.Process.Command)
	}
	ctx, cancel := context.WithTimeout(ctx, holderTime)
	defer cancel()
	page, err := t.Manager.List(ctx, procmgr.ListRequest{Limit: maxHolders}) // those that live come first
	if err != nil {
		return
	}
	for _, p := range page.Processes {
		if !alive(p) || p.ID == out.Process.ID {
			continue
		}
		holder, err := t.Manager.Output(ctx, p.ID, procmgr.OutputRequest{Ports: true, Limit: headtail.Limits{Bytes: 1}})
		switch {
		case errors.Is(err, procmgr.ErrNotFound):
			continue // it has gone meanwhile
		case err != nil:
			return
		}
		for _, l := range holder.Listening {
			command := wording.Quote(p.Command, maxMatched)
			switch port := portOf(l); {
			case slices.Contains(wanted, port):
				rep.Add("Port %d is held by process %s of this chat (%s), pid %d; %s ends it.", port, p.ID, command, l.PID, k.names.signal)
				return
			case len(wanted) == 0:
				rep.Add("Process %s of this chat (%s) listens on port %d; %s ends it.", p.ID, command, port, k.names.signal)
			}
		}
	}
}

// portTaken returns the last line that says that a port is taken.
func portTaken(text string) (line string, ok bool) {
	at := inUse.FindAllStringIndex(text, -1)
	if len(at) == 0 {
		return "", false
	}
	last := at[len(at)-1]
	begin := strings.LastIndexByte(text[:last[0]], '\n') + 1
	rest, _, _ := strings.Cut(text[last[1]:], "\n")
	return text[begin:last[1]] + rest, true
}

// portsIn returns the numbers in a text that can be ports. Those of two digits
// are not taken for ports, except for 80.
func portsIn(text string) (ports []int) {
	for _, number := range digits.FindAllString(errno.ReplaceAllString(text, ""), -1) {
		n, err := strconv.Atoi(number)
		if err == nil && (n == 80 || n > 99 && n <= 65535) {
			ports = append(ports, n)
		}
	}
	return ports
}
