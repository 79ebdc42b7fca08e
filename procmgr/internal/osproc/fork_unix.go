//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package osproc

import (
	"errors"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// MaxCommand is the longest command in bytes. On Linux it is MAX_ARG_STRLEN of
// execve(2), 32 pages including the NUL at the end. The others limit the arguments
// and the environment together, to 256 KiB or more.
const MaxCommand = 128<<10 - 1

func checkPlatform() error { return nil }

// wrappedStdin is the descriptor by which a program in front of the shell gets the stdin
// of the shell. Its own is the null device.
const wrappedStdin = 3

// fork starts a leader in a new session, and in a cgroup of its own if there
// are cgroups.
func (s *System) fork(c *Command, file, cookie string) (*Tree, error) {
	ends, err := openStdio(c, s.null)
	if err != nil && c.Stdin == StdinTerminal {
		return nil, err
	}
	if err != nil {
		return nil, forkError(err, file)
	}
	l, err := s.newSession(c, cookie)
	if err == nil && c.Claim != nil {
		err = c.Claim(l.lineage())
	}
	if err != nil {
		ends.close()
		l.release()
		return nil, err
	}
	// A program that only waits for the shell must not hold its input.
	files, terminal := ends.leader[:], 0
	if c.Wrapped {
		files, terminal = append([]uintptr{s.null.Fd()}, ends.leader[1], ends.leader[2], ends.leader[0]), wrappedStdin
	}
	ignores.begin()
	began, err := c.onThread(func() error {
		return l.start(file, c.Argv, &syscall.ProcAttr{
			Dir:   c.Dir,
			Env:   c.Env,
			Files: closeInherited(files, s.inheritable),
			// The terminal, if any, becomes the controlling terminal of the leader's
			// session.
			Sys: &syscall.SysProcAttr{Setsid: true, Setctty: ends.terminal, Ctty: terminal},
		})
	})
	ignores.end()
	if err != nil {
		ends.close()
		l.release()
		return nil, startError(began, err, c.Dir, file)
	}
	l.begin(&s.searches)
	ends.release()
	p := newPipe(ends.output, c.Output)
	return &Tree{system: s, session: l, pipe: p, input: ends.newInput(p)}, nil
}

// forkError explains the error of a failed start. After it nothing runs.
func forkError(err error, shell string) error {
	switch {
	case errors.Is(err, sentinel.ErrInvalid):
		return err
	case errors.Is(err, unix.E2BIG):
		return xerrors.Errorf("the command and its environment are longer than the system takes (%v): %w", err, sentinel.ErrInvalid)
	case errors.Is(err, unix.EAGAIN):
		return xerrors.Errorf("the system allows this user no more processes (%v); end some of them: %w", err, sentinel.ErrLimit)
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return xerrors.Errorf("no file descriptor is left (%v); end some processes: %w", err, sentinel.ErrLimit)
	case errors.Is(err, unix.ENOMEM):
		return xerrors.Errorf("no memory is left for another process (%v): %w", err, sentinel.ErrLimit)
	}
	return xerrors.Errorf("%s: %v; set Options.Shell: %w", shell, err, sentinel.ErrInvalid)
}

const (
	// minClosed is the number up to which a leader never inherits a descriptor, so
	// that one that C code of the host opens later does not reach commands.
	minClosed = 63
	// probedDescriptors is how many descriptors are tried one by one if the system
	// doesn't list them.
	probedDescriptors = 1 << 16
)

// lastInheritable returns the highest descriptor that a leader must not inherit: the
// highest inheritable one that this program has now, but at least minClosed.
func lastInheritable() int {
	last := minClosed
	note := func(fd int) {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			last = max(last, fd)
		}
	}
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil {
		for _, e := range entries {
			if fd, err := strconv.Atoi(e.Name()); err == nil {
				note(fd)
			}
		}
		return last
	}
	for fd := range min(maxDescriptors(), probedDescriptors) {
		note(fd)
	}
	return last
}

// maxDescriptors returns how many descriptors this program may have.
func maxDescriptors() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return minClosed
	}
	return int(min(uint64(limit.Cur), 1<<30))
}

// closeInherited returns the descriptors of a leader, with an end of -1 for every
// other one up to last: the child closes these. It marks none of this program's own,
// because a program that restarts itself hands them on.
func closeInherited(files []uintptr, last int) []uintptr {
	// The child of package syscall needs numbers beyond all of these: for the pipe that
	// tells an error of its exec, and for each end that has to make room.
	last = min(last, maxDescriptors()-len(files)-3)
	for len(files) <= last {
		files = append(files, ^uintptr(0))
	}
	return files
}

// ignoredSignals keeps commands from ignoring what this program ignores. A child
// inherits an ignored signal, also through an exec, so that nohup and the & of a
// script would make commands that no Interrupt ends. A signal with a handler is
// the default one again after an exec. So before a fork each ignored signal gets
// a handler that does nothing. To this program that is the same.
//
// SIGTTIN and SIGTTOU stay ignored. With a handler, the kernel would repeat a
// read from the terminal without end while this program is in the background.
type ignoredSignals struct {
	mu     sync.Mutex // guards the fields below; held for moments
	starts int        // under way
	looked bool       // at all signals, even ones unknown to package signal
	// hangups has SIGHUP and SIGINT if this program has ignored them. After
	// signal.Stop it ignores them again if it did before, and package signal knows
	// whether other code takes them meanwhile. So they have a handler only during a start,
	// and children that are no commands go on to ignore them.
	hangups []os.Signal
	// passing gets the hangups, and always all other signals. Neither is read.
	passing, always chan os.Signal
}

// ignores is one for all Systems, because a signal is ignored by a whole program.
var ignores = ignoredSignals{passing: make(chan os.Signal, 1), always: make(chan os.Signal, 1)}

// maxSignal is the last signal that package signal knows everywhere.
const maxSignal syscall.Signal = 64

// begin is called before a fork, and end after the exec.
func (g *ignoredSignals) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.starts++
	for sig := syscall.Signal(1); sig <= maxSignal; sig++ {
		hangup := sig == syscall.SIGHUP || sig == syscall.SIGINT
		switch {
		case sig == syscall.SIGTTIN || sig == syscall.SIGTTOU:
		case !signal.Ignored(sig) && (g.looked && !hangup || !ignoredUnknown(sig)):
		case !hangup:
			signal.Notify(g.always, sig)
		case !slices.Contains(g.hangups, os.Signal(sig)):
			g.hangups = append(g.hangups, sig)
		}
	}
	g.looked = true
	if len(g.hangups) > 0 {
		signal.Notify(g.passing, g.hangups...)
	}
}

func (g *ignoredSignals) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.starts--; g.starts == 0 && len(g.hangups) > 0 {
		signal.Stop(g.passing)
	}
}

// signalName returns a name such as SIGKILL. A real-time signal has only a
// number.
func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return "SIG" + strconv.Itoa(int(s))
}

// enterable reports whether this user may run a command in a directory.
func enterable(dir string) bool { return unix.Access(dir, unix.X_OK) == nil }
