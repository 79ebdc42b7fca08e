package sandbox

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"
)

// The Landlock rights that write. fileRights apply to a file, and dirRights to a
// directory.
const (
	fileRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	dirRights  = fileRights |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
)

const (
	minABI     = 3 // with truncate(2), Linux 6.2
	scopeABI   = 6 // with signals and abstract sockets, Linux 6.12
	siblingFix = 2 // the erratum since whose fix the threads of one program may signal each other, whatever their rules are
)

// devices are what commands may always write to, and how: without them, script(1) and the
// locks of Python's multiprocessing fail.
var devices = map[string]uint64{
	"/dev/null": fileRights, "/dev/zero": fileRights, "/dev/full": fileRights, "/dev/random": fileRights, "/dev/urandom": fileRights,
	"/dev/tty": fileRights, "/dev/ptmx": fileRights, "/dev/pts": dirRights, "/dev/shm": dirRights,
}

// landlockABI returns the version of Landlock, 0 for none.
func landlockABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// scopes returns what Landlock keeps within a box besides files. Without the fix,
// package runtime could not preempt the threads of this program from the kept one.
func scopes(abi int) uint64 {
	if abi < scopeABI {
		return 0
	}
	errata, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_ERRATA)
	if errno != 0 || errata&(1<<(siblingFix-1)) == 0 {
		return unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	return unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
}

// restrictFiles lets the calling thread, and all that it starts, write below some
// directories and to the devices alone. The thread has no_new_privs.
func restrictFiles(dirs []int) error {
	abi := landlockABI()
	if abi < minABI {
		return &lack{"Write", fmt.Sprintf("the kernel has version %d of Landlock, and it takes %d (Linux 6.2)", abi, minABI)}
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: dirRights, Scoped: scopes(abi)}
	// An older kernel takes what it does not know if it is zero.
	rules, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return xerrors.Errorf("landlock_create_ruleset: %w", errno)
	}
	defer unix.Close(int(rules))
	for _, dir := range dirs {
		if err := allow(int(rules), dir, dirRights); err != nil {
			return err
		}
	}
	for device, rights := range devices {
		fd, err := unix.Open(device, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			continue // commands can't write to it either
		}
		err = allow(int(rules), fd, rights)
		_ = unix.Close(fd) // nothing was written
		if err != nil {
			return err
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, rules, 0, 0); errno != 0 {
		return xerrors.Errorf("landlock_restrict_self: %w", errno)
	}
	return nil
}

func allow(rules, fd int, rights uint64) error {
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0); errno != 0 {
		return xerrors.Errorf("landlock_add_rule: %w", errno)
	}
	return nil
}
