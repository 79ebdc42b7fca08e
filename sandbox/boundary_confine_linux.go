package sandbox

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"
)

// missing is the answer of a system call that the kernel does not have. Programs know
// what to do without.
const missing = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)

// boundaryFilter returns the rules for system calls. Namespaces keep commands from the
// memory of other processes, and Landlock keeps them from signals; but for Landlock, the
// kept thread is one of them, and who reaches a thread ends its whole program. So the
// filter has the ways that lead to a process by its number. It also has what belongs to
// a user and to no namespace: limits, by which a process dies as well, and keys. Without
// network it has the sockets that belong to no namespace, such as those to the host of a
// virtual machine.
func boundaryFilter(tid int, network Network) []bpf.Instruction {
	f := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		bpf.RetConstant{Val: refused},
		bpf.LoadAbsolute{Off: offsetCall, Size: 4},
	}
	if runtime.GOARCH == "amd64" {
		f = append(f, bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: x32, SkipFalse: 1}, bpf.RetConstant{Val: refused})
	}
	is := func(value int) bpf.Instruction {
		return bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(value), SkipFalse: 1}
	}
	for _, r := range []struct {
		call uint32
		arg  int
	}{
		{unix.SYS_KILL, 0}, {unix.SYS_TKILL, 0}, {unix.SYS_TGKILL, 1},
		{unix.SYS_RT_SIGQUEUEINFO, 0}, {unix.SYS_RT_TGSIGQUEUEINFO, 1},
	} {
		f = append(f, only(r.call, argument(r.arg), is(tid), bpf.RetConstant{Val: refused})...)
	}
	for _, call := range []uint32{
		unix.SYS_PIDFD_SEND_SIGNAL, // a descriptor does not tell of whom it is
		unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
	} {
		f = append(f, only(call, bpf.RetConstant{Val: missing})...)
	}
	// A file may send signals to its owner.
	f = append(f, only(unix.SYS_FCNTL, argument(1),
		is(unix.F_SETOWN_EX), bpf.RetConstant{Val: refused}, // the number is in memory
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.F_SETOWN, SkipFalse: 3},
		argument(2), is(tid), bpf.RetConstant{Val: refused})...)
	f = append(f, only(unix.SYS_IOCTL, argument(1),
		is(fioSetOwn), bpf.RetConstant{Val: refused}, is(sioSetOwn), bpf.RetConstant{Val: refused})...)
	if network == NoNetwork {
		for _, call := range []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR} {
			f = append(f, only(call, argument(0),
				bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_UNIX, SkipTrue: 4},
				bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET, SkipTrue: 3},
				bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET6, SkipTrue: 2},
				bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_NETLINK, SkipTrue: 1},
				bpf.RetConstant{Val: refused})...)
		}
		for _, call := range []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER} {
			f = append(f, only(call, bpf.RetConstant{Val: missing})...) // it makes sockets without those calls
		}
	}
	// Commands set limits of themselves alone, and read those of others.
	set := func(half uint32) bpf.Instruction {
		return bpf.LoadAbsolute{Off: offsetArgs + 8*2 + half, Size: 4}
	}
	return append(append(f, only(unix.SYS_PRLIMIT64, argument(0),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 5},
		set(0), bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 2},
		set(4), bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1},
		bpf.RetConstant{Val: refused})...), bpf.RetConstant{Val: allowed})
}

// The numbers of ioctl that make a process the owner of a file, see ioctl_list(2) and
// socket(7).
const (
	fioSetOwn = 0x8901
	sioSetOwn = 0x8902
)

// confine puts the calling thread under the rules of Boundary that no namespace has. A
// domain of Landlock that handles files would forbid the mounts of bubblewrap.
func confine(tid int, network Network) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return xerrors.Errorf("no_new_privs: %w", err)
	}
	abi := landlockABI()
	scoped := scopes(abi)
	if scoped&unix.LANDLOCK_SCOPE_SIGNAL == 0 {
		return &lack{"Level Boundary", fmt.Sprintf("commands could signal all processes of the user: the kernel has version %d of Landlock, and it takes %d with its corrections (Linux 6.12)", abi, scopeABI)}
	}
	attr := unix.LandlockRulesetAttr{Scoped: scoped}
	rules, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return xerrors.Errorf("landlock_create_ruleset: %w", errno)
	}
	defer unix.Close(int(rules))
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, rules, 0, 0); errno != 0 {
		return xerrors.Errorf("landlock_restrict_self: %w", errno)
	}
	return restrictCalls(boundaryFilter(tid, network))
}
