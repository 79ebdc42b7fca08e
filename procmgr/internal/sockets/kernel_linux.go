package sockets

import (
	"encoding/binary"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"
)

// askKernel returns the listening TCP sockets of a process's network namespace,
// by their inode. own says that it is the namespace of this program too.
func askKernel(pid int, own bool) (map[uint32]Listen, error) {
	if own {
		return dumpListening()
	}
	var all map[uint32]Listen
	var err error
	onLostThread(func() {
		if err = enterNetwork(pid); err == nil {
			all, err = dumpListening()
		}
	})
	return all, err
}

// onLostThread runs f on a thread of its own, on which nothing else runs
// afterwards, and waits for it.
func onLostThread(f func()) {
	done := make(chan struct{})
	go func() { // waited for just below
		defer close(done)
		runtime.LockOSThread() // the thread ends with this goroutine
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		// The first thread would not end, and /proc/self speaks of it. While
		// it is locked, f gets another one.
		onLostThread(f)
		runtime.UnlockOSThread()
	}()
	<-done
}

// enterNetwork moves this thread to the network namespace of a process.
func enterNetwork(pid int) error {
	namespace, err := os.Open("/proc/" + strconv.Itoa(pid) + "/ns/net")
	if err != nil {
		return err
	}
	defer namespace.Close()
	return unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET)
}

// dumpListening asks the kernel for the listening TCP sockets of this thread's
// network namespace: see sock_diag(7).
func dumpListening() (map[uint32]Listen, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	// The kernel answers at once. Should it ever not, this call must return.
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1}); err != nil {
		return nil, err
	}
	all := make(map[uint32]Listen)
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		if err := unix.Sendto(fd, diagRequest(family), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
			return nil, err
		}
		if err := readDump(fd, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// These are sizes in bytes, and places of fields, in linux/inet_diag.h.
const (
	diagRequestSize = 56 // struct inet_diag_req_v2
	diagAnswerSize  = 72 // struct inet_diag_msg
	diagPort        = 4
	diagSource      = 8
	diagInode       = 68

	tcpListen = 10 // TCP_LISTEN of net/tcp_states.h
)

// diagRequest asks for all listening TCP sockets of a family.
func diagRequest(family byte) []byte {
	b := make([]byte, unix.SizeofNlMsghdr+diagRequestSize)
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	binary.NativeEndian.PutUint16(b[4:], unix.SOCK_DIAG_BY_FAMILY)
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	body := b[unix.SizeofNlMsghdr:]
	body[0], body[1] = family, unix.IPPROTO_TCP
	binary.NativeEndian.PutUint32(body[4:], 1<<tcpListen)
	return b
}

var errDump = xerrors.New("the kernel's answer cannot be read")

// readDump reads the answer to one request.
func readDump(fd int, into map[uint32]Listen) error {
	buf := make([]byte, 64<<10)
	for {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		if err == unix.EINTR {
			continue
		} else if err != nil {
			return err
		}
		messages, err := syscall.ParseNetlinkMessage(buf[:n])
		if err != nil {
			return err
		}
		for _, m := range messages {
			switch body := m.Data; m.Header.Type {
			case unix.NLMSG_DONE:
				return nil
			case unix.NLMSG_ERROR:
				if len(body) < 4 {
					return errDump
				}
				return unix.Errno(-int32(binary.NativeEndian.Uint32(body)))
			case unix.SOCK_DIAG_BY_FAMILY:
				if len(body) < diagAnswerSize {
					return errDump
				}
				port := int(binary.BigEndian.Uint16(body[diagPort:]))
				into[binary.NativeEndian.Uint32(body[diagInode:])] = listenOn(body[0] == unix.AF_INET6, body[diagSource:diagSource+16], port)
			}
		}
	}
}

// listenOn describes a socket by its address, in network byte order.
func listenOn(v6 bool, addr []byte, port int) Listen {
	l := Listen{Network: "tcp4", Port: port}
	ip := netip.AddrFrom4([4]byte(addr))
	if v6 {
		l.Network = "tcp6"
		ip = netip.AddrFrom16([16]byte(addr))
	}
	l.Addr = netip.AddrPortFrom(ip, uint16(port)).String()
	return l
}
