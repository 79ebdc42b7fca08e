package waiting

import (
	"encoding/binary"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// isOwnSocket reports whether a process has both ends of a pair of Unix sockets, and
// none of the others that are looked at has the other end too. Python's asyncio wakes
// itself by such a pair.
func (l *Look) isOwnSocket(pid int, inode uint64) bool {
	peer, err := peerOf(uint32(inode))
	if err != nil || !holds(pid, peer) {
		return false
	}
	for _, p := range l.seen {
		if p.pid != pid && holds(p.pid, peer) {
			return false
		}
	}
	return true
}

// holds reports whether a process has a socket.
func holds(pid int, inode uint32) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd/"
	want := "socket:[" + strconv.FormatUint(uint64(inode), 10) + "]"
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if link, err := os.Readlink(dir + e.Name()); err == nil && link == want {
			return true
		}
	}
	return false
}

// These are sizes in bytes, and values, in linux/unix_diag.h.
const (
	diagRequestSize = 24 // struct unix_diag_req
	diagAnswerSize  = 16 // struct unix_diag_msg
	diagShowPeer    = 4  // UDIAG_SHOW_PEER
	diagPeer        = 2  // UNIX_DIAG_PEER
)

// peerOf returns the inode of the Unix socket to which another one of this network
// namespace is connected: see sock_diag(7).
func peerOf(inode uint32) (peer uint32, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	// The kernel answers at once. Should it ever not, this call must return.
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1}); err != nil {
		return 0, err
	}
	request := make([]byte, unix.SizeofNlMsghdr+diagRequestSize)
	binary.NativeEndian.PutUint32(request, uint32(len(request)))
	binary.NativeEndian.PutUint16(request[4:], unix.SOCK_DIAG_BY_FAMILY)
	binary.NativeEndian.PutUint16(request[6:], unix.NLM_F_REQUEST)
	body := request[unix.SizeofNlMsghdr:]
	body[0] = unix.AF_UNIX
	binary.NativeEndian.PutUint32(body[4:], 1<<32-1) // in any state
	binary.NativeEndian.PutUint32(body[8:], inode)
	binary.NativeEndian.PutUint32(body[12:], diagShowPeer)
	binary.NativeEndian.PutUint64(body[16:], 1<<64-1) // with any cookie
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, err
	}
	var answer [1024]byte
	n, _, err := unix.Recvfrom(fd, answer[:], 0)
	if err != nil {
		return 0, err
	}
	messages, err := syscall.ParseNetlinkMessage(answer[:n])
	if err != nil || len(messages) == 0 || messages[0].Header.Type != unix.SOCK_DIAG_BY_FAMILY || len(messages[0].Data) < diagAnswerSize {
		return 0, unix.ENOTCONN
	}
	for attributes := messages[0].Data[diagAnswerSize:]; len(attributes) >= unix.SizeofNlAttr; {
		size := int(binary.NativeEndian.Uint16(attributes))
		if size < unix.SizeofNlAttr || size > len(attributes) {
			break
		}
		if binary.NativeEndian.Uint16(attributes[2:]) == diagPeer && size == unix.SizeofNlAttr+4 {
			return binary.NativeEndian.Uint32(attributes[unix.SizeofNlAttr:]), nil
		}
		attributes = attributes[min((size+3)&^3, len(attributes)):]
	}
	return 0, unix.ENOTCONN
}
