// Package prompt finds out whether a process waits for input on its terminal or pipe. A
// [Reader] asks the kernel, and draws no conclusion from silence or from output. A
// [Watch] decides when it is worth looking.
//
// On Linux, /proc/PID/task/TID/syscall has the system call in which a thread sleeps,
// with its arguments. A program waits for input if one of its threads sleeps in
//
//   - a read of the terminal or pipe;
//   - a poll or a select of at least 4 s that has it among the descriptors to read, if
//     every other descriptor is a pipe or a pair of sockets to the program itself, an
//     eventfd, a signalfd, a timerfd, an inotify, or the same terminal;
//   - an epoll wait on the same. A library may leave a descriptor in the set that it
//     no longer reads, as libuv does, and then wait for a timer or for a child. So
//     there must be no timeout and no child, or the terminal must be in the mode for
//     single keys. An edge-triggered entry is no evidence: a runtime such as Go's
//     makes one for each open file.
//
// Descriptors are compared by device and inode, not by number. If the input is a
// terminal, the program has to be in its foreground group. All other threads of the
// program have to sleep for want of work: in a futex, for a signal, or in a wait on
// nothing but such descriptors. If one runs, or waits for a child or for a socket, the
// program may go on by itself. The same is true if its first thread sleeps for a time.
// Any other thread is allowed to, for example one that draws or reports now and then.
//
// A program may pass its input on to a terminal of its own, as script(1), sudo(8) and
// Python's pty.spawn do: it polls the master of that terminal together with its input.
// Then what counts is whether a program waits on that terminal. This needs Linux 5.6.
//
// If any of this is unknown, the program does not count as waiting. Reading the system
// call of a process takes the permission to trace it, see ptrace(2) and proc(5). The
// permission is missing
//
//   - for a program of another user, and one with a set-user-ID bit, unless this
//     program is root or has CAP_SYS_PTRACE;
//   - for a program that has made itself undumpable, see prctl(2), in the same way;
//   - under Yama, if kernel.yama.ptrace_scope is 1, for a process that is no descendant
//     of this program, such as one whose parent has ended; without the capability if it
//     is 2; and always if it is 3.
//
// gVisor, and kernels for architectures without the file, never show the call. The
// numbers of the calls are known for amd64 and arm64. 32-bit programs are not looked
// at.
package prompt

import "time"

// A Found is a program that waits for input.
type Found struct {
	PID int
	// Since is when a Watch saw that first. It is zero in a Look.
	Since time.Time
	// Program is the name by which the system knows it, in at most 64 bytes of
	// printable text. A program can change it.
	Program string
	Secret  bool // as the Mode of the look says
}
