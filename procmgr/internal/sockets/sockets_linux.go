package sockets

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
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

// HeldBy returns the listening sockets that some processes hold descriptors of, in the
// order of their ports. If several processes hold one socket, it counts for the one with
// the lowest PID. A process whose descriptors cannot be read, because it runs as another
// user, holds none.
func HeldBy(processes []Process) (all []Listen) {
	// The kernel counts the inodes of sockets for all network namespaces alike, and a
	// process may hold a socket of another namespace than its own.
	listening, read := make(map[uint32]Listen), make(map[string]bool)
	for _, p := range processes {
		dir := "/proc/" + strconv.Itoa(p.PID)
		namespace, _ := os.Readlink(dir + "/ns/net") // "" if that cannot be told
		if !read[namespace] {
			read[namespace] = true
			readTable(dir+"/net/tcp", listening)
			readTable(dir+"/net/tcp6", listening)
		}
	}
	if len(listening) == 0 {
		return nil
	}
	held := make(map[uint32]Listen)
	for _, p := range processes {
		for _, inode := range inodesOf(p) {
			l, ok := listening[inode]
			if have, is := held[inode]; ok && (!is || p.PID < have.PID) {
				l.PID = p.PID
				held[inode] = l
			}
		}
	}
	for _, l := range held {
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b Listen) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.PID, b.PID))
	})
	return slices.Compact(all)
}

// readTable reads the listening sockets from a file of proc(5). They come before the
// connections, which may be many and are not read.
func readTable(path string, into map[uint32]Listen) {
	file, err := os.Open(path)
	if err != nil {
		return
	}
	defer file.Close()
	const listens, handshake = "0A", "03"
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Fields(lines.Text()) // sl local_address rem_address st … inode
		switch {
		case len(fields) < 10 || fields[0] == "sl" || fields[3] == handshake:
			continue
		case fields[3] != listens:
			return
		}
		inode, err := strconv.ParseUint(fields[9], 10, 32)
		if l, ok := listenOn(fields[1]); ok && err == nil {
			into[uint32(inode)] = l
		}
	}
}

// listenOn describes a socket by its address in such a file.
func listenOn(local string) (l Listen, ok bool) {
	host, service, _ := strings.Cut(local, ":")
	addr, err := hex.DecodeString(host)
	if err != nil || len(addr)%4 != 0 {
		return l, false
	}
	for at := 0; at < len(addr); at += 4 { // each a number in the machine's byte order
		binary.NativeEndian.PutUint32(addr[at:], binary.BigEndian.Uint32(addr[at:]))
	}
	ip, ok := netip.AddrFromSlice(addr)
	port, err := strconv.ParseUint(service, 16, 16)
	return Listen{Addr: netip.AddrPortFrom(ip, uint16(port)).String(), Port: int(port)}, ok && err == nil
}

// inodesOf returns the inodes of a process's sockets. It returns none if the process has
// gone meanwhile.
func inodesOf(p Process) (inodes []uint32) {
	path := "/proc/" + strconv.Itoa(p.PID) + "/fd/"
	dir, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // names read before an error count
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
