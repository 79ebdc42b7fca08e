package sandbox

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"
)

// The offsets of struct seccomp_data, see seccomp(2). An argument is taken as its low
// 32 bits, like the kernel takes an int; both architectures of auditArch are little
// endian.
const (
	offsetCall = 0
	offsetArch = 4
	offsetArgs = 16
)

const (
	allowed = unix.SECCOMP_RET_ALLOW
	refused = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	// missing is the answer of a system call that the kernel does not have. Programs know
	// what to do without.
	missing  = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	noFamily = unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT) // of a socket
)

// auditArch is the architecture whose system calls a filter knows. The calls of other
// architectures, such as the 32-bit ones of an amd64, have other numbers, and are refused.
var auditArch = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]

// x32 is the bit of the calls of another ABI of amd64, see the syscall(2).
const x32 = 0x40000000

// A reach is a call that reaches a thread by its number, which is the argument at the
// place.
type reach struct {
	call uint32
	arg  int
}

// filter returns the rules for system calls. Commands have the same domain of Landlock
// as the thread that forks them. So Landlock does not keep them from it, and through it
// from all of this program; these rules do.
func filter(network Network, tid int) []bpf.Instruction {
	f := common(tid, reach{unix.SYS_PIDFD_OPEN, 0}, reach{unix.SYS_PTRACE, 1}, reach{unix.SYS_PROCESS_VM_READV, 0},
		reach{unix.SYS_PROCESS_VM_WRITEV, 0}, reach{unix.SYS_PERF_EVENT_OPEN, 1})
	if network == NoNetwork {
		for _, call := range []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER} {
			f = append(f, only(call, bpf.RetConstant{Val: refused})...)
		}
		for _, call := range []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR} {
			// getifaddrs of Go and of node asks a netlink socket.
			f = append(f, only(call, argument(0),
				bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_UNIX, SkipTrue: 4},
				bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.AF_NETLINK, SkipTrue: 2},
				argument(2),
				bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.NETLINK_ROUTE, SkipTrue: 1},
				bpf.RetConstant{Val: refused})...)
		}
	}
	return append(f, bpf.RetConstant{Val: allowed})
}

// only returns instructions for one system call. The number of the call is loaded before
// and after them.
func only(call uint32, rules ...bpf.Instruction) []bpf.Instruction {
	rules = append(rules, bpf.LoadAbsolute{Off: offsetCall, Size: 4})
	return append([]bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpEqual, Val: call, SkipFalse: uint8(len(rules))}}, rules...)
}

func argument(n int) bpf.Instruction {
	return bpf.LoadAbsolute{Off: offsetArgs + 8*uint32(n), Size: 4}
}

// common returns the beginning of the filters of both levels, with more calls that must
// not reach the thread that forks. No signal may reach it, and a file sends signals to its
// owner: Landlock does not keep commands from it. And as root, a command could type into
// the terminal of a person, whose shell is in no box.
func common(tid int, more ...reach) []bpf.Instruction {
	f := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		bpf.RetConstant{Val: refused},
		bpf.LoadAbsolute{Off: offsetCall, Size: 4},
	}
	if runtime.GOARCH == "amd64" {
		f = append(f, bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: x32, SkipFalse: 1}, bpf.RetConstant{Val: refused})
	}
	is := func(value uint32) bpf.Instruction {
		return bpf.JumpIf{Cond: bpf.JumpEqual, Val: value, SkipFalse: 1}
	}
	for _, r := range append([]reach{
		{unix.SYS_KILL, 0}, {unix.SYS_TKILL, 0}, {unix.SYS_TGKILL, 1},
		{unix.SYS_RT_SIGQUEUEINFO, 0}, {unix.SYS_RT_TGSIGQUEUEINFO, 1},
	}, more...) {
		f = append(f, only(r.call, argument(r.arg), is(uint32(tid)), bpf.RetConstant{Val: refused})...)
	}
	f = append(f, only(unix.SYS_FCNTL, argument(1),
		is(unix.F_SETOWN_EX), bpf.RetConstant{Val: refused}, // the number is in memory
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.F_SETOWN, SkipFalse: 3},
		argument(2), is(uint32(tid)), bpf.RetConstant{Val: refused})...)
	for _, request := range []uint32{fioSetOwn, sioSetOwn, unix.TIOCSTI, tiocLinux} {
		f = append(f, only(unix.SYS_IOCTL, argument(1), is(request), bpf.RetConstant{Val: refused})...)
	}
	return f
}

// Numbers of ioctl that make a process the owner of a file, and one that pastes into a
// console: see ioctl_list(2), socket(7) and ioctl_console(2).
const (
	fioSetOwn = 0x8901
	sioSetOwn = 0x8902
	tiocLinux = 0x541c
)

// restrictCalls puts the calling thread under a filter of system calls, and all that it
// starts. The thread has no_new_privs.
func restrictCalls(filter []bpf.Instruction) error {
	if auditArch == 0 {
		return &lack{"Level", fmt.Sprintf("nobody has written rules for the system calls of %s", runtime.GOARCH)}
	}
	raw, err := bpf.Assemble(filter)
	if err != nil {
		return err
	}
	program := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		program[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return xerrors.Errorf("seccomp: %w", errno)
	}
	return nil
}

// restrict puts the calling thread under all rules. No other goroutine may use it.
func restrict(dirs []int, network Network) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return xerrors.Errorf("no_new_privs: %w", err)
	}
	if err := restrictFiles(dirs); err != nil {
		return err
	}
	return restrictCalls(filter(network, unix.Gettid()))
}
