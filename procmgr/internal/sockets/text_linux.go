package sockets

import (
	"encoding/binary"
	"encoding/hex"
	"os"
	"strconv"
	"strings"
)

// readTables reads the listening TCP sockets of a process's network namespace
// from the files of proc(5).
func readTables(pid int) map[uint32]Listen {
	all := make(map[uint32]Listen)
	for _, name := range []string{"tcp", "tcp6"} {
		table, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/net/" + name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(table)) {
			if inode, l, ok := tableLine(line); ok {
				all[inode] = l
			}
		}
	}
	return all
}

// tableLine reads one line of such a file. It reports false if the line is no
// listening socket.
func tableLine(line string) (inode uint32, l Listen, ok bool) {
	fields := strings.Fields(line) // sl local_address rem_address st … inode
	if len(fields) < 10 || fields[3] != "0A" {
		return 0, l, false
	}
	host, service, _ := strings.Cut(fields[1], ":")
	addr, err := hex.DecodeString(host)
	if err != nil || len(addr) != 4 && len(addr) != 16 {
		return 0, l, false
	}
	for at := 0; at < len(addr); at += 4 { // each a number in the machine's byte order
		binary.NativeEndian.PutUint32(addr[at:], binary.BigEndian.Uint32(addr[at:]))
	}
	port, err := strconv.ParseUint(service, 16, 16)
	if err != nil {
		return 0, l, false
	}
	number, err := strconv.ParseUint(fields[9], 10, 32)
	if err != nil {
		return 0, l, false
	}
	return uint32(number), listenOn(len(addr) == 16, addr, int(port)), true
}
