package osproc

import (
	"log/slog"
	"os"
	"sync"

	"github.com/toolproc/toolproc/procmgr/internal/sockets"
)

// A Config says how a System runs commands.
type Config struct {
	// Cgroup is a directory of a cgroup v2 file system. Each tree gets a cgroup
	// of its own in it. "" means no cgroups.
	Cgroup string
	// Logger gets a line for each dead System whose remains Open ends.
	Logger *slog.Logger
}

// A System starts commands on this machine. It is safe for concurrent use.
type System struct {
	null    *os.File // the stdin of leaders
	cgroups *cgroups // nil if Config.Cgroup is not set
	// inheritable is the highest descriptor that leaders do not inherit.
	inheritable int
	searches    searches
	reading     sync.WaitGroup // the goroutines that read the trees' pipes
}

// Open returns a System. Where commands cannot be run, the error is
// [errors.ErrUnsupported]. It also fails if the cgroup cannot be used.
func Open(c Config) (*System, error) {
	if err := checkPlatform(); err != nil {
		return nil, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	s := &System{null: null, inheritable: lastInheritable()}
	if err = s.searches.open(); err == nil && c.Cgroup != "" {
		s.cgroups, err = openCgroups(&c)
	}
	if err != nil {
		s.searches.close()
		null.Close()
		return nil, err
	}
	return s, nil
}

// Blind returns an error if the members of a tree cannot be looked for, so that Kill
// cannot tell whether it has ended all of them. With a cgroup they are known.
func (s *System) Blind() error {
	if s.cgroups != nil {
		return nil
	}
	return s.searches.blind()
}

// Unreadable returns an error if /proc does not describe members: it may belong to another
// PID namespace, where their numbers are strangers'.
func (s *System) Unreadable() error { return s.searches.blind() }

// Close frees the resources of the System. The caller calls it when it follows
// no tree any more.
func (s *System) Close() {
	s.reading.Wait()
	s.searches.close()
	s.null.Close()
	s.cgroups.close()
}

// Start runs a command. Its output is not read before Follow. If Start returns
// an error, nothing runs. Start holds no lock during the fork.
func (s *System) Start(c Command) (*Tree, error) {
	cookie := newCookie()
	c.Env = append(c.Env, cookie+"=1")
	file, err := FindShell(c.Argv[0])
	if err != nil {
		return nil, err
	}
	return s.fork(&c, file, cookie)
}

// startError explains why a leader was not started. began is as onThread reports it.
func startError(began bool, err error, dir, file string) error {
	if !began {
		return err
	}
	if gone := CheckDirectory(dir); gone != nil {
		return gone
	}
	return forkError(err, file)
}

// A Delivery tells how far a signal has come.
type Delivery struct {
	// Live has the members of each tree that were found alive.
	Live map[*Tree][]int
	// Settled reports that no member was missed. If it is false, processes were
	// started faster than they can be looked at, or no descriptor was left to
	// look.
	Settled bool
}

// Signal sends a signal to all members of some trees. After SIGTERM and SIGINT it
// continues stopped members, so that the signal takes effect. It returns an error if
// the system did not permit it to signal one of them. On Windows every signal ends the
// trees.
func (s *System) Signal(trees []*Tree, sig Signal) (Delivery, error) {
	return s.searches.deliver(trees, sig)
}

// A Listen is a TCP socket on which a member of a tree listens.
type Listen = sockets.Listen
