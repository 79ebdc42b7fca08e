package prompt

import (
	"bytes"
	"encoding/binary"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// alone reports whether a process has something that none of the others that are looked
// at has.
func (l *look) alone(pid int, has func(pid int) bool) bool {
	return has(pid) && !slices.ContainsFunc(l.seen, func(p process) bool { return p.pid != pid && has(p.pid) })
}

// isOwnSocket reports whether a process alone has the other end of one of its Unix
// sockets. Python's asyncio wakes itself by such a pair.
func (l *look) isOwnSocket(pid int, inode uint64) bool {
	peer, err := peerOf(uint32(inode))
	return err == nil && l.alone(pid, func(pid int) bool { return holds(pid, peer) })
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
	if err != nil || len(messages) == 0 || messages[0].Header.Type != unix.SOCK_DIAG_BY_FAMILY || len(messages[0].Data) < diagAnswerSize+unix.SizeofNlAttr+4 {
		return 0, unix.ENOTCONN
	}
	attribute := messages[0].Data[diagAnswerSize:] // the one that was asked for; others are behind it
	if binary.NativeEndian.Uint16(attribute[2:]) != diagPeer {
		return 0, unix.ENOTCONN
	}
	return binary.NativeEndian.Uint32(attribute[unix.SizeofNlAttr:]), nil
}

// isOwn reports whether only the program or the kernel acts on a descriptor: a pipe or
// a pair of sockets to itself, an eventfd, a signalfd, a timerfd or an inotify.
func (l *look) isOwn(pid, fd int, seen sight) bool {
	switch seen.kind {
	case unix.S_IFIFO:
		return l.isOwnPipe(pid, seen.file)
	case unix.S_IFSOCK:
		return l.isOwnSocket(pid, seen.inode)
	}
	link, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/fd/" + strconv.Itoa(fd))
	switch link { // of a file with such a name, it begins with a slash
	case "anon_inode:[eventfd]", "anon_inode:[signalfd]", "anon_inode:[timerfd]", "anon_inode:inotify":
		return err == nil
	}
	return false
}

// isOwnPipe reports whether a process alone has the end of a pipe to which one writes.
func (l *look) isOwnPipe(pid int, pipe file) bool {
	return pipe != l.place.file && l.alone(pid, func(pid int) bool { return writes(pid, pipe) })
}

// writes reports whether a process has the end of a pipe to which one writes.
func writes(pid int, pipe file) bool {
	dir := "/proc/" + strconv.Itoa(pid)
	entries, _ := os.ReadDir(dir + "/fd")
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if seen, ok := descriptor(pid, fd); !ok || seen.kind != unix.S_IFIFO || seen.file != pipe {
			continue
		}
		var buf [128]byte
		text, _ := slurp(dir+"/fdinfo/"+e.Name(), buf[:])
		_, text, _ = bytes.Cut(text, []byte("flags:"))
		text, _, _ = bytes.Cut(text, []byte("\n"))
		flags, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 8, 64)
		if err == nil && flags&unix.O_ACCMODE != unix.O_RDONLY {
			return true
		}
	}
	return false
}

// A Place is a terminal or a pipe from which programs read their input. It does not
// change.
type Place struct {
	terminal bool
	file     file
	device   uint64 // of the terminal
}

// A file is what a descriptor is open on.
type file struct{ device, inode uint64 }

// PlaceOf returns the place at the other end of a descriptor, which is a pipe's end or
// the master of a terminal.
func PlaceOf(fd int, terminal bool) (p Place, err error) {
	if terminal {
		// The number of a terminal is not enough, since each mount of devpts has its
		// own numbers.
		fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC)
		if errno != 0 {
			return p, errno
		}
		defer unix.Close(int(fd))
		return placeOf(int(fd), true)
	}
	return placeOf(fd, false)
}

func placeOf(fd int, terminal bool) (Place, error) {
	s, err := lookAt(fd, "", unix.AT_EMPTY_PATH)
	return Place{terminal, s.file, s.device}, err
}

// A sight is what a descriptor of a process is open on.
type sight struct {
	file
	kind   uint16 // the S_IFMT bits
	device uint64 // of a device
}

// descriptor looks at what a descriptor of a process is open on. It opens nothing, and
// asks no server of a network file system.
func descriptor(pid, fd int) (sight, bool) {
	s, err := lookAt(unix.AT_FDCWD, "/proc/"+strconv.Itoa(pid)+"/fd/"+strconv.Itoa(fd), 0)
	return s, err == nil
}

func lookAt(fd int, path string, flags int) (s sight, err error) {
	var x unix.Statx_t
	if err := unix.Statx(fd, path, flags|unix.AT_STATX_DONT_SYNC, unix.STATX_TYPE|unix.STATX_INO, &x); err != nil {
		return s, err
	}
	return sight{
		file:   file{unix.Mkdev(x.Dev_major, x.Dev_minor), x.Ino},
		kind:   x.Mode & unix.S_IFMT,
		device: unix.Mkdev(x.Rdev_major, x.Rdev_minor),
	}, nil
}

// controlling is /dev/tty, which is the controlling terminal of each program that opens
// it.
var controlling = unix.Mkdev(5, 0)
