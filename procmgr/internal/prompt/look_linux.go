package prompt

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr/internal/procstat"
)

// A look looks at some processes and all that they have started.
type look struct {
	place  Place
	mode   Mode
	seen   []process
	relays int // terminals in front of the place
}

// A process is one at which a look looks.
type process struct {
	pid    int
	ran    int64    // nanoseconds, before it was looked at
	tasks  []string // the directories of its threads
	parent bool     // it has children
}

// A Mode is what the other end of a terminal tells of it. It is zero for a pipe.
type Mode struct {
	Group int  // the group of processes in the foreground
	Keys  bool // programs get single keys, and no lines
	// Secret is for the Found: the echo is off, and programs get lines.
	Secret bool
}

// ModeOf returns what the master of a terminal tells of it.
func ModeOf(master int) (mode Mode, err error) {
	settings, err := unix.IoctlGetTermios(master, unix.TCGETS)
	if err != nil {
		return mode, err
	}
	lines := settings.Lflag&unix.ICANON != 0
	mode.Keys, mode.Secret = !lines, lines && settings.Lflag&unix.ECHO == 0
	mode.Group, err = unix.IoctlGetInt(master, unix.TIOCGPGRP)
	return mode, err
}

// maxProcesses is how many processes one look looks at.
const maxProcesses = 256

// At returns the program that waits for input at a place, among some processes and all
// that they have started. It returns nil if none waits, or if that cannot be told.
func (p Place) At(pids []int, mode Mode) *Found {
	l := &look{place: p, mode: mode}
	for _, pid := range pids {
		l.add(pid)
	}
	if len(l.seen) > maxProcesses {
		return nil
	}
	return l.find()
}

// find returns the first program that waits for input, or nil.
func (l *look) find() *Found {
	for _, p := range l.seen {
		if p.ran < 0 {
			continue
		}
		var found *Found
		if l.waits(p) {
			found = &Found{PID: p.pid, Program: nameOf(p.pid), Secret: l.mode.Secret}
		} else {
			found = l.behind(p)
		}
		if found != nil && procstat.RanFor(p.pid) == p.ran {
			return found
		}
	}
	return nil
}

// add adds a process and its children.
func (l *look) add(pid int) {
	if len(l.seen) > maxProcesses {
		return
	}
	at := len(l.seen)
	l.seen = append(l.seen, process{pid: pid, ran: procstat.RanFor(pid)})
	tasks := tasksOf(pid)
	children := childrenOf(tasks)
	l.seen[at].tasks, l.seen[at].parent = tasks, len(children) > 0
	for _, child := range children {
		l.add(child)
	}
}

// waits reports whether a process waits for input.
func (l *look) waits(p process) bool {
	var asleep []sleep // the threads that wait for input
	for _, task := range p.tasks {
		s, ok := sleepOf(task)
		switch {
		case !ok || s.call == other:
			return false
		case s.call == idle, s.call == nap && !isFirst(p.pid, task):
			continue
		}
		asking, fine := l.asks(p, task, s)
		switch {
		case asking:
			asleep = append(asleep, s)
		case !fine:
			return false
		}
	}
	// The thread may have run while its memory was read.
	return len(asleep) > 0 && !slices.ContainsFunc(asleep, sleep.runs)
}

// shortest is the shortest timeout of a wait for input. A program with a shorter one
// does something now and then, and only looks whether a key was pressed meanwhile. top
// draws every 3 s. vim does something once, after 4 s, and then waits without one.
const shortest = 4 * time.Second

// asks reports whether a thread waits for input. If it does not, fine reports that it
// waits only for what the program itself can give.
func (l *look) asks(p process, task string, s sleep) (asking, fine bool) {
	if s.call == read {
		seen, ok := descriptor(p.pid, int(min(s.args[0], 1<<31-1)))
		return ok && l.isPlace(seen, task), false
	}
	all, timeout, ok := watchedBy(p.pid, s)
	if !ok {
		return false, false
	}
	for _, w := range all {
		seen, ok := descriptor(p.pid, w.fd)
		switch {
		case !ok || w.file != file{} && w.file != seen.file:
			return false, false
		case l.isPlace(seen, task):
			asking = asking || w.reads
		case !l.isOwn(p.pid, w.fd, seen):
			return false, false
		}
	}
	switch stale := s.call == epoll || s.call == epoll2; {
	case asking && timeout < shortest:
		return false, false
	case asking && stale && !l.mode.Keys:
		asking = timeout == forever && !p.parent
	}
	// Without a descriptor it only sleeps for a time.
	return asking, len(all) > 0 || !isFirst(p.pid, task)
}

// isFirst reports whether a thread is the first one of its process. If that one sleeps
// for a time, the program goes on by itself. Another one may do something now and then
// beside a program that waits for input.
func isFirst(pid int, task string) bool { return strings.HasSuffix(task, "/"+strconv.Itoa(pid)) }

// isPlace reports whether a descriptor is open on the place, and whether the program
// may read it.
func (l *look) isPlace(seen sight, task string) bool {
	switch {
	case !l.place.terminal && (seen.kind != unix.S_IFIFO || seen.file != l.place.file):
		return false
	case l.place.terminal && (seen.kind != unix.S_IFCHR || seen.file != l.place.file && seen.device != controlling):
		return false
	}
	t, ok := procstat.LookAtThread(task)
	return ok && t.State == 'S' && (!l.place.terminal || t.Terminal == l.place.device && t.Group == l.mode.Group)
}

// tasksOf returns the directories of the threads of a process.
func tasksOf(pid int) (tasks []string) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	for _, name := range names {
		tasks = append(tasks, dir+"/"+name)
	}
	return tasks
}

// childrenOf returns the children of some threads.
func childrenOf(tasks []string) (children []int) {
	for _, task := range tasks {
		children = append(children, procstat.Children(task)...)
	}
	return children
}

// maxName is the limit of Found.Program in bytes.
const maxName = 64

// nameOf returns the name of a program.
func nameOf(pid int) string {
	dir := "/proc/" + strconv.Itoa(pid)
	var buf [128]byte
	text, _ := slurp(dir+"/comm", buf[:])
	name := strings.TrimSuffix(string(text), "\n")
	if strings.Contains(name, "MainThread") { // so Node names its first thread
		if link, err := os.Readlink(dir + "/exe"); err == nil {
			name = link[strings.LastIndexByte(link, '/')+1:]
		}
	}
	name = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, name)
	return strings.ToValidUTF8(name[:min(len(name), maxName)], "")
}

// multiplexer is /dev/ptmx, on which the master of each terminal is open.
var multiplexer = unix.Mkdev(5, 2)

// maxRelays is how many terminals, one behind the other, are looked at.
const maxRelays = 4

// behind returns a program that waits for input on a terminal to whose master a process
// passes what it reads from the place, as script(1) and sudo(8) do. Whatever else such a
// process waits for, that program can only go on with input.
func (l *look) behind(p process) *Found {
	if l.relays == maxRelays {
		return nil
	}
	for _, task := range p.tasks {
		for _, master := range l.relayed(p, task) {
			place, mode, err := masterOf(p.pid, master)
			if err != nil {
				continue
			}
			inner := &look{place: place, mode: mode, seen: l.seen, relays: l.relays + 1}
			found := inner.find()
			if _, after, err := masterOf(p.pid, master); found != nil && err == nil && after == mode {
				return found
			}
		}
	}
	return nil
}

// relayed returns the masters of terminals for which a thread waits while it waits for
// input from the place.
func (l *look) relayed(p process, task string) (masters []int) {
	s, ok := sleepOf(task)
	if !ok {
		return nil
	}
	all, _, ok := watchedBy(p.pid, s)
	if !ok {
		return nil
	}
	reads := false
	for _, w := range all {
		seen, ok := descriptor(p.pid, w.fd)
		switch {
		case !ok || w.file != file{} && w.file != seen.file:
			return nil
		case l.isPlace(seen, task):
			reads = reads || w.reads
		case seen.kind == unix.S_IFCHR && seen.device == multiplexer:
			masters = append(masters, w.fd)
		}
	}
	if !reads {
		return nil
	}
	return masters
}

// masterOf returns the terminal whose master is a descriptor of a process, and what it
// tells of itself.
func masterOf(pid, fd int) (p Place, mode Mode, err error) {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return p, mode, err
	}
	defer unix.Close(pidfd)
	master, err := unix.PidfdGetfd(pidfd, fd, 0)
	if err != nil {
		return p, mode, err
	}
	defer unix.Close(master)
	if p, err = PlaceOf(master, true); err != nil {
		return p, mode, err
	}
	mode, err = ModeOf(master)
	return p, mode, err
}
