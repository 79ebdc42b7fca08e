package waiting

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// A Place is a terminal or a pipe from which programs read their input. It does not
// change.
type Place struct {
	terminal bool
	file     file
	device   uint64 // of the terminal
}

// A file is what a descriptor is open on.
type file struct{ device, inode uint64 }

// PlaceOf returns the place of which a descriptor is the other end: that of a pipe, or
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

// controlling is /dev/tty, which is the controlling terminal of whoever has opened it.
var controlling = unix.Mkdev(5, 0)
