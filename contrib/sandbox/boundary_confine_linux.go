package sandbox

import (
	"fmt"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"
)

// boundaryFilter returns the rules for system calls. Namespaces keep commands from the
// memory of other processes, and Landlock keeps them from signals; but for Landlock, the
// kept thread is one of them, and who reaches a thread ends its whole program. So the
// filter has the ways that lead to a process by its number. It also has what belongs to
// a user and to no namespace: limits, by which a process dies as well, and keys. Without
// network it has the sockets that belong to no namespace, such as those to the host of a
// virtual machine. A Unix socket would reach every server whose path a command sees.
func boundaryFilter(tid int, p *Policy) []bpf.Instruction {
	f := common(tid)
	is := func(value int) bpf.Instruction {
		return bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(value), SkipFalse: 1}
	}
	for _, call := range []uint32{
		unix.SYS_PIDFD_SEND_SIGNAL, // a descriptor does not tell of whom it is
		unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
		unix.SYS_BPF, // a pinned map can be written also where its file system is mounted read-only
	} {
		f = append(f, only(call, bpf.RetConstant{Val: missing})...)
	}
	if !p.UnixSockets {
		f = append(f, only(unix.SYS_SOCKET, argument(0), is(unix.AF_UNIX), bpf.RetConstant{Val: noFamily})...)
		// A pair of datagrams, which a raw one is too, could be connected to a server.
		f = append(f, only(unix.SYS_SOCKETPAIR, argument(0),
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.AF_UNIX, SkipTrue: 5},
			argument(1), bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xf}, // without SOCK_CLOEXEC
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_STREAM, SkipTrue: 2},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SOCK_SEQPACKET, SkipTrue: 1},
			bpf.RetConstant{Val: noFamily})...)
	}
	if !p.UnixSockets || p.Network == NoNetwork {
		for _, call := range []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER} {
			f = append(f, only(call, bpf.RetConstant{Val: missing})...) // it makes sockets without those calls
		}
	}
	if p.Network == NoNetwork {
		for _, call := range []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR} {
			f = append(f, only(call, argument(0),
				bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_UNIX, SkipTrue: 4},
				bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET, SkipTrue: 3},
				bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET6, SkipTrue: 2},
				bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_NETLINK, SkipTrue: 1},
				bpf.RetConstant{Val: refused})...)
		}
	}
	// Commands can read the limits of other processes, but set only their own.
	set := func(half uint32) bpf.Instruction {
		return bpf.LoadAbsolute{Off: offsetArgs + 8*2 + half, Size: 4}
	}
	return append(append(f, only(unix.SYS_PRLIMIT64, argument(0),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 5},
		set(0), bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 2},
		set(4), bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1},
		bpf.RetConstant{Val: refused})...), bpf.RetConstant{Val: allowed})
}

// confine puts the calling thread under the rules of Boundary that no namespace has. A
// domain of Landlock that handles files would forbid the mounts of bubblewrap.
func confine(tid int, p *Policy) error {
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
	return restrictCalls(boundaryFilter(tid, p))
}
