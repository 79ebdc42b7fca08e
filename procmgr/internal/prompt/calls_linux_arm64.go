package prompt

import "golang.org/x/sys/unix"

var calls = map[int]call{
	unix.SYS_READ:    read,
	unix.SYS_READV:   read,
	unix.SYS_PREAD64: read,
	unix.SYS_PREADV:  read,
	unix.SYS_PREADV2: read,

	unix.SYS_PPOLL:        ppoll,
	unix.SYS_PSELECT6:     selects,
	unix.SYS_EPOLL_PWAIT:  epoll,
	unix.SYS_EPOLL_PWAIT2: epoll2,

	unix.SYS_FUTEX:           idle,
	unix.SYS_FUTEX_WAITV:     idle,
	unix.SYS_RT_SIGTIMEDWAIT: idle,
	unix.SYS_RT_SIGSUSPEND:   idle,

	unix.SYS_NANOSLEEP:       nap,
	unix.SYS_CLOCK_NANOSLEEP: nap,
}
