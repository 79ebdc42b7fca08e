package waiting

import "golang.org/x/sys/unix"

// multiplexer is /dev/ptmx, on which the master of each terminal is open.
var multiplexer = unix.Mkdev(5, 2)

// maxRelays is how many terminals are looked at of which one is behind the other.
const maxRelays = 4

// behind returns a program that waits for input on a terminal to whose master a process
// passes what it reads from the place, as script(1) and sudo(8) do. Whatever else such a
// process waits for, that program can only go on with input.
func (l *Look) behind(p process) *Found {
	if l.relays == maxRelays {
		return nil
	}
	for _, task := range p.tasks {
		for _, master := range l.relayed(p, task) {
			place, mode, err := masterOf(p.pid, master)
			if err != nil {
				continue
			}
			inner := &Look{place: place, mode: mode, seen: l.seen, relays: l.relays + 1}
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
func (l *Look) relayed(p process, task string) (masters []int) {
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
	settings, err := unix.IoctlGetTermios(master, unix.TCGETS)
	if err != nil {
		return p, mode, err
	}
	lines := settings.Lflag&unix.ICANON != 0
	mode.Keys, mode.Secret = !lines, lines && settings.Lflag&unix.ECHO == 0
	mode.Group, err = unix.IoctlGetInt(master, unix.TIOCGPGRP)
	return p, mode, err
}
