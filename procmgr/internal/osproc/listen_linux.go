package osproc

import "github.com/toolproc/toolproc/procmgr/internal/sockets"

// TellsPorts reports whether Listening can tell anything on this platform.
const TellsPorts = true

// Listening returns the TCP sockets on which the members of some trees listen, as
// [sockets.Table.HeldBy] does. It reports false if it could not look.
func (s *System) Listening(trees []*Tree) (found map[*Tree][]Listen, looked bool) {
	members, looked := s.sessions.find(sessionsOf(trees), true)
	if !looked {
		for _, all := range members {
			closeMembers(all)
		}
		return nil, false
	}
	table := make(sockets.Table)
	processes := make(map[*session][]sockets.Process)
	for of, all := range members {
		for _, m := range all {
			if m != unseen {
				table.Add(m.pid)
				processes[of] = append(processes[of], sockets.Process{PID: m.pid, Alive: m.alive})
			}
		}
	}
	found = make(map[*Tree][]Listen)
	for _, t := range trees {
		if all := table.HeldBy(processes[t.session]); len(all) > 0 {
			found[t] = all
		}
		closeMembers(members[t.session])
	}
	return found, true
}
