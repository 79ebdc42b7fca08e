package osproc

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"
)

// TellsPorts reports whether Listening can tell anything on this platform.
const TellsPorts = true

// Listening returns the TCP sockets on which the members of some trees listen,
// each in the order of its ports. If several members hold one socket, the one
// with the lowest PID counts. If a member's descriptors cannot be read, because
// it runs as another user, it counts for none. Listening reports false if it
// could not look.
func (s *System) Listening(trees []*Tree) (found map[*Tree][]Listen, looked bool) {
	members, looked := s.sessions.find(sessionsOf(trees), true)
	if !looked {
		for _, all := range members {
			closeMembers(all)
		}
		return nil, false
	}
	sockets := make(sockets)
	for _, all := range members {
		for _, m := range all {
			sockets.add(m.pid)
		}
	}
	found = make(map[*Tree][]Listen)
	for _, t := range trees {
		if all := sockets.heldBy(members[t.session]); len(all) > 0 {
			found[t] = all
		}
		closeMembers(members[t.session])
	}
	return found, true
}

// sockets has the listening sockets of some network namespaces, each namespace
// with its sockets by their inode. The kernel counts the inodes of sockets for
// all namespaces alike, and a process may hold a socket of another namespace
// than its own.
type sockets map[string]map[uint32]Listen

// add adds the sockets of a process's network namespace.
func (s sockets) add(pid int) {
	namespace := namespaceOf(strconv.Itoa(pid))
	if _, ok := s[namespace]; ok {
		return
	}
	own := namespace == "" || namespace == namespaceOf("self")
	all, err := askKernel(pid, own)
	if err != nil {
		// The program may not enter the namespace, or the kernel has no
		// sock_diag. The text needs neither. With many connections it costs
		// more, because it lists them all.
		all = readTables(pid)
	}
	s[namespace] = all
}

// heldBy returns the sockets of which some members have descriptors.
func (s sockets) heldBy(members []member) []Listen {
	held := make(map[uint32]Listen)
	for _, m := range members {
		for _, inode := range s.inodesOf(m) {
			for _, all := range s {
				l, ok := all[inode]
				if have, is := held[inode]; ok && (!is || m.pid < have.PID) {
					l.PID = m.pid
					held[inode] = l
				}
			}
		}
	}
	all := make([]Listen, 0, len(held))
	for _, l := range held {
		all = append(all, l)
	}
	return inOrder(all)
}

// empty reports whether no namespace has a socket.
func (s sockets) empty() bool {
	for _, all := range s {
		if len(all) > 0 {
			return false
		}
	}
	return true
}

// inOrder sorts sockets by their ports, and leaves out each that is there twice.
func inOrder(all []Listen) []Listen {
	slices.SortFunc(all, func(a, b Listen) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Network, b.Network), cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.PID, b.PID))
	})
	return slices.Compact(all)
}

// inodesOf returns the inodes of a member's sockets. It returns none if there is
// nothing to find, or if the member has gone meanwhile.
func (s sockets) inodesOf(m member) (inodes []uint32) {
	if m == unseen || s.empty() {
		return nil
	}
	path := "/proc/" + strconv.Itoa(m.pid) + "/fd/"
	dir, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // those that it has read count
	for _, name := range names {
		to, err := os.Readlink(path + name)
		if err != nil {
			continue
		}
		if text, ok := strings.CutPrefix(to, "socket:["); ok {
			if inode, err := strconv.ParseUint(strings.TrimSuffix(text, "]"), 10, 32); err == nil {
				inodes = append(inodes, uint32(inode))
			}
		}
	}
	if !m.alive() {
		return nil // its number may be a stranger's by now
	}
	return inodes
}

// namespaceOf names a process's network namespace. It is "" if that cannot be
// told.
func namespaceOf(pid string) string {
	name, err := os.Readlink("/proc/" + pid + "/ns/net")
	if err != nil {
		return ""
	}
	return name
}
