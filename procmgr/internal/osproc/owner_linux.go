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

// setOwner makes the group of a number the owner of a descriptor. It reports
// false if the number names nothing that the kernel knows: no process, group or
// session. The owner would get SIGIO, but nothing asks for that, so the owner
// gets nothing.
func setOwner(fd, pid int) bool {
	o := owner{kind: ownerGroup, pid: int32(pid)}
	_, _, errno := unix.Syscall(unix.SYS_FCNTL, uintptr(fd), unix.F_SETOWN_EX, uintptr(unsafe.Pointer(&o)))
	return errno != unix.ESRCH
}

// tellsDeadOwner reports whether F_GETOWN_EX tells if an owner has gone. It
// does since Linux 5.12. Before that, it still returns the number.
var tellsDeadOwner = sync.OnceValue(func() bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return false
	}
	var major, minor int
	_, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor)
	return err == nil && (major > 5 || major == 5 && minor >= 12)
})

// hasOwner reports whether the group that setOwner named has a member. The
// kernel remembers the group itself, not its number.
func hasOwner(fd int) bool {
	if !tellsDeadOwner() {
		return false
	}
	var o owner
	_, _, errno := unix.Syscall(unix.SYS_FCNTL, uintptr(fd), unix.F_GETOWN_EX, uintptr(unsafe.Pointer(&o)))
	return errno == 0 && o.pid != 0
}
