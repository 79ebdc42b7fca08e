package sockets

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"
)

// A Process may hold sockets. Alive reports whether it has not ended: then its number
// is still its own.
type Process struct {
	PID   int
	Alive func() bool
}

// A Table has the listening sockets of some network namespaces, each namespace
// with its sockets by their inode. The kernel counts the inodes of sockets for
// all namespaces alike, and a process may hold a socket of another namespace
// than its own.
type Table map[string]map[uint32]Listen

// Add adds the sockets of a process's network namespace.
func (t Table) Add(pid int) {
	namespace := namespaceOf(strconv.Itoa(pid))
	if _, ok := t[namespace]; ok {
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
	t[namespace] = all
}

// HeldBy returns the sockets of which some processes have descriptors, in the order
// of their ports. If several hold one socket, the one with the lowest PID counts. If
// the descriptors of a process cannot be read, because it runs as another user, it
// counts for none.
func (t Table) HeldBy(processes []Process) []Listen {
	held := make(map[uint32]Listen)
	for _, p := range processes {
		for _, inode := range t.inodesOf(p) {
			for _, all := range t {
				l, ok := all[inode]
				if have, is := held[inode]; ok && (!is || p.PID < have.PID) {
					l.PID = p.PID
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
func (t Table) empty() bool {
	for _, all := range t {
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

// inodesOf returns the inodes of a process's sockets. It returns none if there is
// nothing to find, or if the process has gone meanwhile.
func (t Table) inodesOf(p Process) (inodes []uint32) {
	if t.empty() {
		return nil
	}
	path := "/proc/" + strconv.Itoa(p.PID) + "/fd/"
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
	if !p.Alive() {
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
