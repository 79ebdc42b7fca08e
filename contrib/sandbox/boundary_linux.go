package sandbox

import (
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// boundary is the Level Boundary. Each command gets its own user and mount namespaces from
// bubblewrap. Later mounts of the host would propagate into these, so bubblewrap runs in
// private ones made by unshare. Before that, nsenter enters the namespaces that all
// commands of a box share: IPC, network with NoNetwork, and the user namespace that owns
// them.
//
// No process holds the shared namespaces: this program has them open. A command finds
// them in /proc at the kept thread, the only part of this program that it may look at.
type boundary struct {
	programs programs
	spaces   []space
	thread   *thread
	tid      int // of thread

	mu     sync.Mutex // guards the fields below
	layout *layout
	closed bool
}

func newBoundary(b *Box) (enforcer, error) {
	e := &boundary{}
	var err error
	if e.programs, err = findPrograms(b.policy.Write); err != nil {
		return nil, err
	}
	if e.layout, err = newLayout(&b.policy, b.temp); err != nil {
		return nil, err
	}
	b.tmpdir, b.rules.Hide = e.layout.tmpdir, e.layout.hide
	if e.spaces, err = e.programs.makeSpaces(b.policy.Network); err != nil {
		return nil, err
	}
	e.thread, err = newThread(func() error {
		e.tid = unix.Gettid()
		if err := confine(e.tid, &b.policy); err != nil || b.policy.UnixSockets {
			return err
		}
		if fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != unix.EAFNOSUPPORT {
			_ = unix.Close(fd) // nothing was written
			return &lack{"Level Boundary", "a Unix socket is not refused"}
		}
		return nil
	})
	if err == nil {
		err = e.check(&b.policy)
	}
	if err != nil {
		_ = e.close() // there is another error to tell
		return nil, err
	}
	return e, nil
}

// onThread starts on the kept thread alone: on another one, a command could not enter
// the shared namespaces, nor signal the others.
func (e *boundary) onThread(start func() error) error {
	begun, err := e.thread.do(start, patience)
	if begun {
		return err
	}
	if _, err := e.open(); err != nil {
		return err
	}
	return xerrors.New("another start hangs, perhaps in a directory of a file server that does not answer")
}

// open returns the layout of now, or an error if the box is closed.
func (e *boundary) open() (*layout, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, procmgr.ErrClosed
	}
	return e.layout, nil
}

func (e *boundary) hide(dir string) ([]string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	real, err := resolvePath(dir, true)
	if err != nil {
		return nil, xerrors.Errorf("%.300q cannot be used (%v): %w", dir, err, procmgr.ErrInvalid)
	}
	next := *e.layout
	next.hide, next.places = append(slices.Clone(next.hide), real), nil
	if err := next.plan(); err != nil {
		return nil, err
	}
	e.layout = &next
	return slices.Clone(next.hide), nil
}

func (e *boundary) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	if e.thread != nil {
		e.thread.end()
	}
	closeSpaces(e.spaces)
	return nil
}

// wrap returns what runs argv in the box, and the environment of the programs in front
// of it. dir is where it runs, "" for the directory of the caller.
func (e *boundary) wrap(dir string, argv, environ []string) (wrapped, outer []string, err error) {
	layout, err := e.open()
	if err != nil {
		return nil, nil, err
	}
	mounts, err := layout.mounts()
	if err != nil {
		return nil, nil, err
	}
	outer, inner := splitEnviron(environ)
	// Ctrl-C and Ctrl-\ reach all programs of a terminal. It is the shell that answers.
	wrapped = append(wrapped, e.programs.env, "--ignore-signal=INT,QUIT", e.programs.nsenter, "--preserve-credentials")
	for _, s := range e.spaces {
		wrapped = append(wrapped, "--"+s.kind+"=/proc/"+strconv.Itoa(e.tid)+"/fd/"+strconv.Itoa(s.fd))
	}
	wrapped = append(wrapped, e.programs.unshare, "--user", "--map-current-user", "--mount", "--propagation", "private")
	wrapped = append(wrapped, e.programs.bwrap, "--unshare-user", "--cap-drop", "ALL")
	wrapped = append(wrapped, mounts...)
	if dir != "" {
		if err := layout.sees(dir); err != nil {
			return nil, nil, err
		}
		wrapped = append(wrapped, "--chdir", dir)
	}
	// bwrap closes descriptor 3, and only what it starts has the input of the shell.
	wrapped = append(wrapped, "--", starterPath, e.programs.sh, "-c", `exec "$@" <&3 3<&-`, "sh", e.programs.env, "--default-signal=INT,QUIT")
	wrapped = append(wrapped, inner...)
	return slices.Concat(wrapped, []string{shellPath(argv[0])}, argv[1:]), outer, nil
}
