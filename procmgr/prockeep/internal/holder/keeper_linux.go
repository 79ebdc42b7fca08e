package holder

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/carry"
	"github.com/toolproc/toolproc/procmgr/internal/procstat"
)

// handTime is how long a keeper may take to take what is held.
const handTime = 10 * time.Second

// A child is a keeper that the holder has started.
type child struct {
	pid     int
	conn    *conn
	program *os.File
	served  time.Time // zero until it has settled
	stated  bool      // it has got a state, and has not settled
	dead    bool
	status  carry.Status
	drained bool // all of its messages were read
	checks  bool // it is the next one, and has not said yet that it can go on
}

// received is a message of a keeper; a nil parcel says that there are no more.
type received struct {
	from   *child
	parcel *parcel
}

// start starts a program as a keeper. A goroutine reads its messages until it has
// ended.
func (h *holder) start(program, report *os.File) (*child, error) {
	ours, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	order, err := orderFile(h.Order)
	if err != nil {
		ours.close()
		return nil, err
	}
	defer order.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		ours.close()
		return nil, err
	}
	defer null.Close()
	if report == nil {
		report = null
	}
	// The path leads to the open file, whatever has become of its name. Its number
	// is above all that ForkExec uses on the way.
	const above = 16
	exe, err := unix.FcntlInt(uintptr(fdOf(program)), unix.F_DUPFD_CLOEXEC, above+max(fdOf(theirs), fdOf(order), fdOf(null)))
	if errors.Is(err, unix.EINVAL) { // the number is above the limit
		err = unix.EMFILE
	}
	if err != nil {
		ours.close()
		return nil, err
	}
	defer unix.Close(exe)
	path := "/proc/self/fd/" + strconv.Itoa(exe)
	pid, err := syscall.ForkExec(path, h.Args, &syscall.ProcAttr{
		Dir: "/", Env: h.Env,
		Files: []uintptr{uintptr(fdOf(null)), 1, 2, uintptr(fdOf(order)), uintptr(fdOf(report)), uintptr(fdOf(theirs))},
	})
	if err != nil {
		ours.close()
		return nil, xerrors.Errorf("the keeper's program cannot be started: %w", err)
	}
	c := &child{pid: pid, conn: ours, program: program}
	go func() {
		for {
			p, err := c.conn.receive()
			if err != nil {
				h.messages <- received{from: c}
				return
			}
			p.data = slices.Clone(p.data)
			h.messages <- received{c, p}
		}
	}()
	return c, nil
}

// orderFile returns a file with an order, at its beginning.
func orderFile(order []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("order", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "order")
	if _, err = f.WriteAt(order, 0); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// hand gives a keeper everything that is held. A keeper that does not take it is
// killed, and another one comes.
func (h *holder) hand(c *child) {
	late := time.Now().Add(handTime)
	send := func(m message, fds ...int) bool {
		err := c.conn.send(m, fds, time.Until(late))
		if err != nil && !c.dead {
			h.Logger.Warn("the keeper does not take what is held", slog.Int("pid", c.pid), slog.String("error", err.Error()))
			_ = unix.Kill(c.pid, unix.SIGKILL) // it is our child, and not reaped
		}
		return err == nil
	}
	flags := 0
	var fds []int
	if h.state != nil {
		flags |= flagState
		fds = append(fds, fdOf(h.state))
		c.stated = true
		if c.program == h.program && h.earlier == nil {
			flags |= flagFallback
		}
	} else if h.generation > 0 {
		flags |= flagCrash
	}
	dead, sure := h.strays(c)
	if !sure || h.unsure {
		flags |= flagUnsure
	}
	if h.ending {
		flags |= flagEnding
	}
	if !send(message{sayHello}.number(Version).number(uint64(h.generation)).number(uint64(flags)), fds...) {
		return
	}
	h.generation++
	for seq, files := range h.held {
		for some := range slices.Chunk(files, maxFiles) {
			m, fds := message{sayHeld}.number(seq), []int(nil)
			for _, f := range some {
				m, fds = m.text(f.role), append(fds, f.fd)
			}
			if !send(m, fds...) {
				return
			}
		}
	}
	for some := range slices.Chunk(dead, 1000) {
		m := message{sayDead}
		for _, s := range some {
			m = m.number(uint64(s.pid)).number(uint64(s.signal)).number(uint64(s.exited))
		}
		if !send(m) {
			return
		}
	}
	for some := range slices.Chunk(slices.Collect(maps.Keys(h.trapped)), 1000) {
		m := message{sayTrapped}
		for _, pid := range some {
			m = m.number(uint64(pid))
		}
		if !send(m) {
			return
		}
	}
	send(message{sayAll})
}

// A stray is a child for which no keeper waits.
type stray struct{ pid, signal, exited int }

// execTime is how long a child of the dead keeper may take until it reaches its
// exec, or is killed on the way to it.
const execTime = 100 * time.Millisecond

// strays returns the children for which no keeper waits. Those that are on the way
// to their exec are killed: so they have run nothing. It reports false if it cannot
// tell all.
func (h *holder) strays(c *child) (all []stray, ok bool) {
	if h.generation == 0 {
		return nil, true
	}
	own, _ := os.Readlink("/proc/" + strconv.Itoa(c.pid) + "/exe")
	for late := time.Now().Add(execTime); ; time.Sleep(time.Millisecond) {
		h.killTrapped()
		pids, ok := children()
		all = all[:0]
		before := false
		for _, pid := range pids {
			if _, awaited := h.seqs[pid]; awaited || pid == c.pid || h.next != nil && pid == h.next.pid {
				continue
			}
			if e, ended := dead(pid); ended {
				all = append(all, stray{pid, e.Signal, 1})
				continue
			}
			exe, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
			if exe == own {
				before = true
				h.killUnborn(pid, late)
			}
			all = append(all, stray{pid, 0, 0})
		}
		if !before || time.Now().After(late) {
			return all, ok && !before
		}
	}
}

// killUnborn kills a child of the dead keeper that has not reached its exec. If it
// reaches its exec meanwhile, it is seen that it has.
func (h *holder) killUnborn(pid int, late time.Time) {
	if !h.isUnborn(pid) {
		return
	}
	// Only what stands cannot reach its exec between the look and the kill.
	_ = unix.Kill(pid, unix.SIGSTOP) // it is our child, and not reaped
	end := unix.SIGCONT
	for {
		p, ok := procstat.Look(pid)
		if !ok || p.Ended() {
			return
		}
		if p.Stopped() {
			if p.Unborn {
				end = unix.SIGKILL
			}
			break
		}
		if time.Now().After(late) {
			break
		}
		time.Sleep(100 * time.Microsecond)
	}
	_ = unix.Kill(pid, end) // it is our child, and not reaped
}

// isUnborn reports whether a child of this process is one of the dead keeper that has
// not reached its exec. Until then it has the memory of the keeper, and so the keeper's
// environment: by that it differs from the children of other programs, which this one
// may have adopted.
func (h *holder) isUnborn(pid int) bool {
	if p, ok := procstat.Look(pid); !ok || !p.Unborn {
		return false
	}
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && string(environ) == strings.Join(h.Env, "\x00")+"\x00"
}

// say returns an end as a part of a sentence.
func say(e carry.Status) string {
	if e.Signal != 0 {
		return "signal: " + syscall.Signal(e.Signal).String()
	}
	return fmt.Sprintf("exit status %d", e.Code)
}
