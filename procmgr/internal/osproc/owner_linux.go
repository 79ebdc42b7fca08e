package osproc

import (
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ownerGroup is F_OWNER_PGRP of fcntl(2).
const ownerGroup = 2

// owner is struct f_owner_ex of fcntl(2).
type owner struct{ kind, pid int32 }

// setOwner makes the process group pid the owner of a descriptor. It reports
// false if pid is not in use as the number of a process, a group or a session:
// so it also answers that question. The owner gets no SIGIO, because the
// descriptor has no O_ASYNC.
func setOwner(fd, pid int) bool {
	o := owner{kind: ownerGroup, pid: int32(pid)}
	_, _, errno := unix.Syscall(unix.SYS_FCNTL, uintptr(fd), unix.F_SETOWN_EX, uintptr(unsafe.Pointer(&o)))
	return errno != unix.ESRCH
}

// tellsDeadOwner reports whether F_GETOWN_EX returns 0 when the owner has gone.
// It does since Linux 5.12. Older kernels return the number of the owner even
// then.
var tellsDeadOwner = sync.OnceValue(func() bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return false
	}
	var major, minor int
	_, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor)
	return err == nil && (major > 5 || major == 5 && minor >= 12)
})

// hasOwner reports whether the group that setOwner made the owner still has a
// member. The kernel remembers the group itself, so a new group with the same
// number does not count. If the kernel cannot tell, hasOwner reports false.
func hasOwner(fd int) bool {
	if !tellsDeadOwner() {
		return false
	}
	var o owner
	_, _, errno := unix.Syscall(unix.SYS_FCNTL, uintptr(fd), unix.F_GETOWN_EX, uintptr(unsafe.Pointer(&o)))
	return errno == 0 && o.pid != 0
}
