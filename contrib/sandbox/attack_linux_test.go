package sandbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A verdict says whether a level stops an attack.
type verdict string

const (
	stops  verdict = "stopped"
	passes verdict = "not stopped"
	// Since Linux 6.16, the right to profile all processes includes their memory maps.
	stopsUser verdict = "stopped, but not as root"
	stopsRoot verdict = "stopped, but not as an ordinary user"
)

// An attack is what a command may try. The same attack succeeds without a box, unless
// the machine lacks something.
type attack struct {
	group, name string
	accidents   verdict
	boundary    verdict
	root        bool // it takes root
	try         func(s *scene) error
}

// A scene is what an attack finds: a directory in which the command may write, one in
// which it may not, and the program that has started it.
type scene struct {
	in, out   string // both have the file "file" and the empty directory "dir"
	host      int    // the program
	thread    int    // the one of its threads that forks
	canary    uintptr
	victim    int // another process, which was there before
	hostFD    int // a file of the program
	pipe      int // a pipe of the program
	socket    int // of UDP, connected, and not closed at an exec
	inherited int // a descriptor of / that is not closed at an exec
	path      string
	renamed   string // as path
	datagrams string
	fifo      string
	abstract  string
	authority string // a setuid program
	terminal  string // of a person
	tcp, udp  string // servers of the program
}

func (s *scene) outside(name string) string { return filepath.Join(s.out, name) }
func (s *scene) inside(name string) string  { return filepath.Join(s.in, name) }

// open opens a file and closes it.
func openFile(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func call(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

func socket(domain, kind, protocol int) func(*scene) error {
	return func(*scene) error {
		fd, err := unix.Socket(domain, kind, protocol)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
}

// reads opens a file of /proc of a process and reads one byte.
func reads(pid func(s *scene) int, name string) func(*scene) error {
	return func(s *scene) error {
		f, err := os.Open("/proc/" + strconv.Itoa(pid(s)) + "/" + name)
		if err != nil {
			return err
		}
		defer f.Close()
		if name == "mem" {
			_, err = f.ReadAt(make([]byte, 1), int64(s.canary))
			return err
		}
		_, err = f.Read(make([]byte, 1))
		return err
	}
}

func host(s *scene) int   { return s.host }
func forker(s *scene) int { return s.thread }
func victim(s *scene) int { return s.victim }

// seizes attaches to a process as a debugger does, and lets it go.
func seizes(pid func(s *scene) int) func(*scene) error {
	return func(s *scene) error {
		runtime.LockOSThread()
		return call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid(s)))
	}
}

// touches reads or writes a byte of the program's memory.
func touches(number uintptr, pid func(s *scene) int) func(*scene) error {
	return func(s *scene) error {
		b := []byte{7}
		local := unix.Iovec{Base: &b[0], Len: 1}
		remote := struct{ base, length uintptr }{s.canary, 1}
		return call(number, uintptr(pid(s)), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&remote)), 1)
	}
}

// signals sends no signal, which takes the same rights as any other.
func signals(pid func(s *scene) int) func(*scene) error {
	return func(s *scene) error { return unix.Kill(pid(s), 0) }
}

// owns makes a process the owner of a socket, which may then send it signals.
func owns(number, request, owner uintptr) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return call(number, uintptr(pair[0]), request, owner)
}

// types puts a letter into the terminal of a person.
func types(s *scene) error {
	fd, err := unix.Open(s.terminal, unix.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	letter := []byte("x")
	return call(unix.SYS_IOCTL, uintptr(fd), unix.TIOCSTI, uintptr(unsafe.Pointer(&letter[0])))
}

// dial connects to a server. Because UDP always connects, there it sends a byte and waits
// for the answer.
func dial(network, address string, multipath bool) error {
	var d net.Dialer
	d.SetMultipathTCP(multipath)
	conn, err := d.Dial(network, address)
	if err != nil {
		return err
	}
	if multipath {
		if over, err := conn.(*net.TCPConn).MultipathTCP(); !over {
			return errors.Join(err, errors.New("it is not MPTCP"))
		}
	}
	if network != "udp" {
		return nil
	}
	_ = conn.SetDeadline(time.Now().Add(time.Second)) // it is a connection of UDP
	if _, err = conn.Write([]byte("a")); err == nil {
		_, err = conn.Read(make([]byte, 1))
	}
	return err
}

// connects connects to a Unix socket that was there before.
func connects(address func(s *scene) string) func(*scene) error {
	return func(s *scene) error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		return unix.Connect(fd, &unix.SockaddrUnix{Name: address(s)})
	}
}

const (
	files    = "writing a file outside"
	entries  = "making, moving or removing an entry outside"
	around   = "writing outside by another way"
	metadata = "changing what a file outside has besides its bytes"
	reading  = "reading"
	program  = "reading or writing the program that started the command"
	tracing  = "a debugger on another process"
	killing  = "a signal to another process"
	network  = "a network, with NoNetwork"
	needless = "a socket that reaches no network by itself, with NoNetwork"
	before   = "a server that was there before, by a Unix socket"
	system   = "the machine itself"
)

var attacks = []attack{
	{files, "a new file", stops, stops, false, func(s *scene) error { return openFile(s.outside("new"), unix.O_CREAT|unix.O_WRONLY) }},
	{files, "open", stops, stops, false, func(s *scene) error { return openFile(s.outside("file"), unix.O_WRONLY) }},
	{files, "append", stops, stops, false, func(s *scene) error { return openFile(s.outside("file"), unix.O_WRONLY|unix.O_APPEND) }},
	{files, "O_RDWR", stops, stops, false, func(s *scene) error { return openFile(s.outside("file"), unix.O_RDWR) }},
	{files, "O_TRUNC", stops, stops, false, func(s *scene) error { return openFile(s.outside("file"), unix.O_TRUNC) }},
	{files, "truncate", stops, stops, false, func(s *scene) error { return unix.Truncate(s.outside("file"), 0) }},
	{files, "O_TMPFILE", stops, stops, false, func(s *scene) error { return openFile(s.out, unix.O_TMPFILE|unix.O_RDWR) }},
	{files, "openat2", stops, stops, false, func(s *scene) error {
		_, err := unix.Openat2(unix.AT_FDCWD, s.outside("file"), &unix.OpenHow{Flags: unix.O_WRONLY})
		return err
	}},
	{files, "open_by_handle_at", stops, stops, true, func(s *scene) error {
		handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, s.outside("file"), 0)
		if err != nil {
			return err
		}
		dir, err := unix.Open(s.out, unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		_, err = unix.OpenByHandleAt(dir, handle, unix.O_WRONLY)
		return err
	}},

	{entries, "mkdir", stops, stops, false, func(s *scene) error { return unix.Mkdir(s.outside("new"), 0o700) }},
	{entries, "rmdir", stops, stops, false, func(s *scene) error { return unix.Rmdir(s.outside("dir")) }},
	{entries, "unlink", stops, stops, false, func(s *scene) error { return unix.Unlink(s.outside("file")) }},
	{entries, "rename", stops, stops, false, func(s *scene) error { return unix.Rename(s.outside("file"), s.outside("new")) }},
	{entries, "rename into Write", stops, stops, false, func(s *scene) error { return unix.Rename(s.outside("file"), s.inside("new")) }},
	{entries, "rename out of Write", stops, stops, false, func(s *scene) error { return unix.Rename(s.inside("file"), s.outside("new")) }},
	{entries, "exchange", stops, stops, false, func(s *scene) error {
		return unix.Renameat2(unix.AT_FDCWD, s.inside("file"), unix.AT_FDCWD, s.outside("file"), unix.RENAME_EXCHANGE)
	}},
	{entries, "a link into Write", stops, stops, false, func(s *scene) error { return unix.Link(s.outside("file"), s.inside("new")) }},
	{entries, "a link out of Write", stops, stops, false, func(s *scene) error { return unix.Link(s.inside("file"), s.outside("new")) }},
	{entries, "a symbolic link", stops, stops, false, func(s *scene) error { return unix.Symlink("file", s.outside("new")) }},
	{entries, "a pipe", stops, stops, false, func(s *scene) error { return unix.Mkfifo(s.outside("new"), 0o600) }},
	{entries, "a socket", stops, stops, false, func(s *scene) error {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrUnix{Name: s.outside("s")})
	}},
	{entries, "a character device", stops, stops, true, func(s *scene) error { return unix.Mknod(s.outside("new"), unix.S_IFCHR, 0x103) }},
	{entries, "a block device", stops, stops, true, func(s *scene) error { return unix.Mknod(s.outside("new"), unix.S_IFBLK, 0x700) }},
	{entries, "a name for an O_TMPFILE", stops, stops, false, func(s *scene) error {
		fd, err := unix.Open(s.in, unix.O_TMPFILE|unix.O_RDWR, 0o600)
		if err != nil {
			return err
		}
		return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), unix.AT_FDCWD, s.outside("new"), unix.AT_SYMLINK_FOLLOW)
	}},

	{around, "a symbolic link to a file", stops, stops, false, func(s *scene) error {
		return errors.Join(unix.Symlink(s.outside("file"), s.inside("link")), openFile(s.inside("link"), unix.O_WRONLY))
	}},
	{around, "a symbolic link to a directory", stops, stops, false, func(s *scene) error {
		return errors.Join(unix.Symlink(s.out, s.inside("link")), openFile(s.inside("link/new"), unix.O_CREAT|unix.O_WRONLY))
	}},
	{around, "a directory swapped for a link", stops, stops, false, func(s *scene) error {
		return errors.Join(unix.Rmdir(s.inside("dir")), unix.Symlink(s.out, s.inside("dir")), openFile(s.inside("dir/file"), unix.O_WRONLY))
	}},
	{around, "chdir", stops, stops, false, func(s *scene) error { return errors.Join(unix.Chdir(s.out), openFile("file", unix.O_WRONLY)) }},
	{around, "..", stops, stops, false, func(s *scene) error {
		up, err := filepath.Rel(s.in, s.out)
		return errors.Join(err, openFile(s.in+"/"+up+"/file", unix.O_WRONLY))
	}},
	{around, "/proc/self/fd of a file that is open to read", stops, stops, false, func(s *scene) error {
		fd, err := unix.Open(s.outside("file"), unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return openFile("/proc/self/fd/"+strconv.Itoa(fd), unix.O_WRONLY)
	}},
	{around, "/proc/self/root", stops, stops, false, func(s *scene) error { return openFile("/proc/self/root"+s.outside("file"), unix.O_WRONLY) }},
	{around, "/proc/HOST/root", stops, stops, false, func(s *scene) error {
		return openFile("/proc/"+strconv.Itoa(s.host)+"/root"+s.outside("file"), unix.O_WRONLY)
	}},
	{around, "/proc/HOST/fd", stops, stops, false, func(s *scene) error {
		return openFile(fmt.Sprintf("/proc/%d/fd/%d", s.host, s.hostFD), unix.O_WRONLY)
	}},
	{around, "a directory that the program has inherited", stops, stops, false, func(s *scene) error {
		return openFile("/proc/self/fd/"+strconv.Itoa(s.inherited)+s.outside("file"), unix.O_WRONLY)
	}},
	{around, "a named pipe that a program outside reads", stops, stops, false, func(s *scene) error {
		return openFile(s.fifo, unix.O_WRONLY|unix.O_NONBLOCK)
	}},
	{around, "chroot", stops, stops, true, func(s *scene) error {
		return errors.Join(unix.Chroot(s.out), openFile("/file", unix.O_WRONLY))
	}},
	{around, "a bind mount", stops, stops, true, func(s *scene) error {
		return errors.Join(unix.Unshare(unix.CLONE_NEWNS), unix.Mount(s.out, s.inside("dir"), "", unix.MS_BIND, ""))
	}},
	{around, "a mount in a user namespace", stops, stops, false, func(s *scene) error {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), "ATTACK=mounts")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		}
		return cmd.Run()
	}},

	{metadata, "chmod", passes, stops, false, func(s *scene) error { return unix.Chmod(s.outside("file"), 0o640) }},
	{metadata, "chown", passes, stops, true, func(s *scene) error { return unix.Chown(s.outside("file"), 1, 1) }},
	{metadata, "utimes", passes, stops, false, func(s *scene) error { return unix.Utimes(s.outside("file"), make([]unix.Timeval, 2)) }},
	{metadata, "setxattr", passes, stops, false, func(s *scene) error { return unix.Setxattr(s.outside("file"), "user.a", []byte("a"), 0) }},
	{metadata, "the mode of a device, such as /dev/null", passes, passes, true, func(s *scene) error {
		info, err := os.Stat("/dev/null")
		if err != nil {
			return err
		}
		return os.Chmod("/dev/null", info.Mode().Perm()) // it has it
	}},
	{metadata, "a lock", passes, passes, false, func(s *scene) error {
		fd, err := unix.Open(s.outside("file"), unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	}},

	{reading, "a file", passes, passes, false, func(s *scene) error { return openFile(s.outside("file"), unix.O_RDONLY) }},
	{reading, "a directory", passes, passes, false, func(s *scene) error { _, err := os.ReadDir(s.out); return err }},
	{reading, "/proc/HOST/cmdline", passes, passes, false, reads(host, "cmdline")},

	{program, "/proc/HOST/mem", stops, stops, false, reads(host, "mem")},
	{program, "/proc/HOST/mem, to write", stops, stops, false, func(s *scene) error { return openFile("/proc/"+strconv.Itoa(s.host)+"/mem", unix.O_RDWR) }},
	{program, "/proc/HOST/environ", stopsUser, stops, false, reads(host, "environ")},
	{program, "/proc/HOST/maps", stopsUser, stops, false, reads(host, "maps")},
	{program, "/proc/HOST/cwd", stops, stops, false, func(s *scene) error { _, err := os.Readlink("/proc/" + strconv.Itoa(s.host) + "/cwd"); return err }},
	{program, "process_vm_readv", stops, stops, false, touches(unix.SYS_PROCESS_VM_READV, host)},
	{program, "process_vm_writev", stops, stops, false, touches(unix.SYS_PROCESS_VM_WRITEV, host)},
	{program, "process_vm_readv, of the thread that forks", stops, stops, false, touches(unix.SYS_PROCESS_VM_READV, forker)},
	{program, "process_vm_writev, of the thread that forks", stops, stops, false, touches(unix.SYS_PROCESS_VM_WRITEV, forker)},
	{program, "/proc/THREAD/mem, to write, of the thread that forks", stops, stops, false, func(s *scene) error {
		return openFile("/proc/"+strconv.Itoa(s.thread)+"/mem", unix.O_RDWR)
	}},
	{program, "/proc/THREAD/environ, of the thread that forks", passes, stops, false, reads(forker, "environ")},
	{program, "/proc/THREAD/mem, of the thread that forks", passes, stops, false, reads(forker, "mem")},
	{program, "/proc/THREAD/fd, to read what other commands print", passes, stops, false, func(s *scene) error {
		return openFile(fmt.Sprintf("/proc/%d/fd/%d", s.thread, s.hostFD), unix.O_RDONLY)
	}},
	{program, "/proc/THREAD/fd, to write what seems to be their output", passes, stops, false, func(s *scene) error {
		return openFile(fmt.Sprintf("/proc/%d/fd/%d", s.thread, s.pipe), unix.O_WRONLY)
	}},
	{program, "pidfd_getfd", stops, stops, false, func(s *scene) error {
		fd, err := unix.PidfdOpen(s.host, 0)
		if err != nil {
			return err
		}
		_, err = unix.PidfdGetfd(fd, s.hostFD, 0)
		return err
	}},

	{tracing, "the program", stops, stops, false, seizes(host)},
	{tracing, "the thread that forks", stops, stops, false, seizes(forker)},
	{tracing, "a process that was there before", stops, stops, false, seizes(victim)},
	{killing, "the program", stops, stops, false, signals(host)},
	{killing, "the thread that forks, by kill", stops, stops, false, signals(forker)},
	{killing, "the thread that forks, by tkill", stops, stops, false, func(s *scene) error { return call(unix.SYS_TKILL, uintptr(s.thread), 0) }},
	{killing, "the thread that forks, by tgkill", stops, stops, false, func(s *scene) error { return unix.Tgkill(s.host, s.thread, 0) }},
	{killing, "the thread that forks, by a number of 64 bits", stops, stops, false, func(s *scene) error {
		return call(unix.SYS_KILL, uintptr(uint64(s.thread)|1<<32), 0)
	}},
	{killing, "a process that was there before", stops, stops, false, signals(victim)},
	{killing, "a pidfd of the program", stops, stops, false, func(s *scene) error {
		fd, err := unix.PidfdOpen(s.host, 0)
		if err != nil {
			return err
		}
		return unix.PidfdSendSignal(fd, 0, nil, 0)
	}},
	{killing, "/proc/THREAD as a pidfd of the thread that forks", passes, stops, false, func(s *scene) error {
		fd, err := unix.Open("/proc/"+strconv.Itoa(s.thread), unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		return unix.PidfdSendSignal(fd, 0, nil, 0)
	}},

	{killing, "a file of which the thread that forks is the owner, by F_SETOWN", stops, stops, false, func(s *scene) error {
		return owns(unix.SYS_FCNTL, unix.F_SETOWN, uintptr(s.thread))
	}},
	{killing, "the same by F_SETOWN_EX", stops, stops, false, func(s *scene) error {
		owner := [2]int32{0, int32(s.thread)} // F_OWNER_TID
		return owns(unix.SYS_FCNTL, unix.F_SETOWN_EX, uintptr(unsafe.Pointer(&owner)))
	}},
	{killing, "the same by FIOSETOWN", stops, stops, false, func(s *scene) error {
		owner := int32(s.thread)
		return owns(unix.SYS_IOCTL, 0x8901, uintptr(unsafe.Pointer(&owner)))
	}},

	{network, "TCP", stops, stops, false, func(s *scene) error { return dial("tcp", s.tcp, false) }},
	{network, "MPTCP", stops, stops, false, func(s *scene) error { return dial("tcp", s.tcp, true) }},
	{network, "UDP", stops, stops, false, func(s *scene) error { return dial("udp", s.udp, false) }},
	{network, "ICMP", stops, stops, true, socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)},
	{network, "AF_PACKET", stops, stops, true, socket(unix.AF_PACKET, unix.SOCK_RAW, 0)},
	{network, "an abstract Unix socket", stops, stops, false, connects(func(s *scene) string { return "@" + s.abstract })},
	{network, "a socket that the program has inherited", stops, stops, false, func(s *scene) error {
		_, err := unix.Write(s.socket, []byte("x"))
		return err
	}},
	{network, "AF_VSOCK", stops, stops, false, socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)},
	{network, "io_uring", stops, stops, false, func(*scene) error {
		var params [120]byte
		return call(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)))
	}},
	{needless, "netlink of another protocol", stops, passes, false, socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_GENERIC)},
	{needless, "the names of interfaces, by netlink", passes, passes, false, socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)},
	{before, "docker.sock, ssh-agent, D-Bus", passes, stops, false, connects(func(s *scene) string { return s.path })},

	{before, "one whose path is not that of its bind, as of prochttp.ListenUnix", passes, stops, false, connects(func(s *scene) string { return s.renamed })},
	{before, "one of datagrams, by a pair of sockets", passes, stops, false, func(s *scene) error {
		var err error
		for _, kind := range []int{unix.SOCK_DGRAM, unix.SOCK_RAW} { // the raw one is of datagrams too
			var pair [2]int
			if pair, err = unix.Socketpair(unix.AF_UNIX, kind, 0); err == nil {
				err = unix.Sendto(pair[0], []byte("x"), 0, &unix.SockaddrUnix{Name: s.datagrams})
			}
			if err == nil {
				return nil
			}
		}
		return err
	}},

	{system, "typing into the terminal of a person, by TIOCSTI", stops, stops, true, types},
	{system, "a setuid program", stops, stops, true, func(s *scene) error {
		out, err := exec.Command(s.authority, "-u").Output()
		if err == nil && !bytes.HasPrefix(out, []byte("65534")) {
			err = errors.New("it has not got another user")
		}
		return err
	}},
	{system, "a file of /proc/sys", stops, stops, true, func(*scene) error { return openFile("/proc/sys/kernel/hostname", unix.O_WRONLY) }},
	{system, "sethostname", passes, stops, true, func(*scene) error {
		name, err := os.Hostname()
		return errors.Join(err, unix.Sethostname([]byte(name)))
	}},
	{system, "the priority of another process", passes, stopsRoot, false, func(s *scene) error { return unix.Setpriority(unix.PRIO_PROCESS, s.victim, 0) }},
	{system, "the limits of another process", passes, stops, false, func(s *scene) error {
		var limit unix.Rlimit
		return errors.Join(unix.Prlimit(s.victim, unix.RLIMIT_CORE, nil, &limit), unix.Prlimit(s.victim, unix.RLIMIT_CORE, &limit, nil))
	}},
	{system, "a file of the program in /dev/shm", passes, stops, false, func(s *scene) error { return openFile("/dev/shm/"+s.abstract, unix.O_WRONLY) }},
}

// attackAll plays the attacker: the test binary runs each attack as a child of its own,
// and prints its number and what it has said, if it has failed.
func attackAll() int {
	root := os.Geteuid() == 0
	for i, a := range attacks {
		if a.root && !root {
			continue
		}
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), "ATTACK="+strconv.Itoa(i))
		out, err := cmd.CombinedOutput()
		said := ""
		if err != nil {
			said = err.Error() + ": " + string(out)
		}
		fmt.Printf("%d %q\n", i, said)
	}
	return 0
}

// attackNow runs the attack of a number, or a part of one.
func attackNow(number string) int {
	if number == "all" {
		return attackAll()
	}
	numberOf := func(s string) int { n, _ := strconv.Atoi(s); return n }
	part := strings.Split(os.Getenv("SCENE"), "|")
	s := &scene{
		in: filepath.Join(part[0], number), out: filepath.Join(part[1], number),
		host: numberOf(part[2]), thread: numberOf(part[3]), canary: uintptr(numberOf(part[4])), victim: numberOf(part[5]), hostFD: numberOf(part[6]),
		path: part[7], abstract: part[8], authority: part[9], tcp: part[10], udp: part[11], terminal: part[12], pipe: numberOf(part[13]),
		renamed: part[14], datagrams: part[15], fifo: part[16], inherited: numberOf(part[17]), socket: numberOf(part[18]),
	}
	err := errors.New("there is no such attack")
	if number == "mounts" {
		err = unix.Mount("none", part[0], "tmpfs", 0, "")
	} else if n := numberOf(number); n < len(attacks) {
		err = attacks[n].try(s)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}
