package holder

import (
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/carry"
)

// A Config says what a holder starts.
type Config struct {
	// Args and Env are the keeper's. Its program is this one, until an upgrade
	// names another one.
	Args, Env []string
	// Order is what each keeper reads from its descriptor FDOrder.
	Order []byte
	// Report is the first keeper's FDReport.
	Report *os.File
	// Failed is told why the first keeper has ended, if it has never served.
	Failed func(why string)
	Logger *slog.Logger
}

// Supported reports whether there are holders on this system.
const Supported = true

// The descriptors of a keeper.
const (
	FDOrder  = 3
	FDReport = 4
	FDLink   = 5
)

const (
	// handTime is how long a keeper may take to take what is held.
	handTime = 10 * time.Second
	// checkTime is how long the program of an upgrade may take to start and to
	// check the state.
	checkTime = 20 * time.Second
	// commitTime is how long a keeper may take to end after it has given its
	// state.
	commitTime = 5 * time.Second
	// leaveTime is how long a keeper may live after it has closed its connection.
	leaveTime = 2 * time.Second
	// resendTime is how long the holder waits before it tells an end again to a
	// keeper that takes nothing.
	resendTime = 100 * time.Millisecond
)

const (
	// maxUnserved is how many keepers in a row may die before they serve.
	maxUnserved = 5
	// maxDeaths is how many keepers may die one after the other; each second of
	// service makes up for one.
	maxDeaths = 2000
	// freeDeaths of them are followed by the next keeper at once.
	freeDeaths = 20
	// maxPause is the longest pause before the next keeper is started.
	maxPause = 200 * time.Millisecond
	// unservedPause is the first pause after a keeper that has never served; each
	// later one is twice as long.
	unservedPause = 50 * time.Millisecond
)

// A child is a keeper that the holder has started.
type child struct {
	pid     int
	conn    *conn
	program *os.File
	began   time.Time
	served  time.Time // zero until it has settled
	stated  bool      // it has got a state, and has not settled
	dead    bool
	status  carry.Status
	drained bool // all of its messages were read
	final   bool // it ends for good
	checks  bool // it is the next one, and has not said yet that it can go on
}

// A holder is the state of Run. One goroutine has it; the others read messages.
type holder struct {
	Config
	held    map[uint64][]held
	awaited map[uint64]int // numbers of leaders, by seq
	seqs    map[int]uint64 // the other way round
	ends    map[uint64]*carry.Status
	unsent  []uint64 // of ends

	now     *child
	next    *child   // of an upgrade
	program *os.File // what is started after a crash
	earlier *os.File // that of before the last upgrade, until the new one serves
	offered *os.File // a state that is not committed
	state   *os.File // a state that counts, until it was taken over

	keeps      bool // nothing is reaped
	unsure     bool // a child was reaped of which no journal may know
	term       bool // the next keeper is to end as soon as it serves
	peak       int64
	unserved   int
	deaths     int
	generation int

	messages chan received
	timers   map[string]*time.Timer
	alarms   chan func()
	over     bool
}

type held struct {
	role string
	fd   int
}

// received is a message of a keeper; a nil parcel says that there are no more.
type received struct {
	from   *child
	parcel *parcel
}

// Run is the holder. It returns when the keeper has ended for good, and then ends
// everything that only it holds: the caller exits.
func Run(c Config) error {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(25)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return xerrors.Errorf("the system has no subreapers: %w", err)
	}
	program, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	h := &holder{
		Config: c, program: program,
		held: make(map[uint64][]held), awaited: make(map[uint64]int), seqs: make(map[int]uint64), ends: make(map[uint64]*carry.Status),
		messages: make(chan received), timers: make(map[string]*time.Timer), alarms: make(chan func()),
	}
	return h.run()
}

func (h *holder) run() error {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // a command would inherit that it is ignored
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, syscall.SIGTERM, syscall.SIGINT)
	var err error
	if h.now, err = h.start(h.program, h.Report); err != nil {
		return err
	}
	h.hand(h.now)
	debug.FreeOSMemory()
	for !h.over {
		select {
		case m := <-h.messages:
			if m.parcel == nil {
				m.from.drained = true
				h.closed(m.from)
			} else {
				h.took(m.from, m.parcel)
				m.parcel.close()
			}
		case <-children:
			h.reap()
		case <-terms:
			h.term = true
			if h.now != nil && !h.now.served.IsZero() {
				_ = unix.Kill(h.now.pid, unix.SIGTERM) // it is our child, and not reaped
			}
		case do := <-h.alarms:
			do()
		}
	}
	if h.next != nil && !h.next.dead {
		_ = unix.Kill(h.next.pid, unix.SIGKILL) // it is our child, and not reaped
	}
	return nil
}

// after calls a function once the time is over, unless the same name is set
// again or unset before that.
func (h *holder) after(name string, d time.Duration, do func()) {
	h.unset(name)
	var timer *time.Timer
	timer = time.AfterFunc(d, func() {
		h.alarms <- func() {
			if h.timers[name] == timer {
				delete(h.timers, name)
				do()
			}
		}
	})
	h.timers[name] = timer
}

func (h *holder) unset(name string) {
	if t := h.timers[name]; t != nil {
		t.Stop()
		delete(h.timers, name)
	}
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
	const above = 64
	exe, err := unix.FcntlInt(uintptr(fdOf(program)), unix.F_DUPFD_CLOEXEC, above+max(fdOf(theirs), fdOf(order), fdOf(null)))
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
	c := &child{pid: pid, conn: ours, program: program, began: time.Now()}
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
	send(message{sayAll})
}

// A stray is a child for which no keeper waits.
type stray struct{ pid, signal, exited int }

// execTime is how long a child of the dead keeper may take until it reaches its
// exec.
const execTime = 100 * time.Millisecond

// strays returns the children for which no keeper waits, after those that were on
// the way to their exec have reached it. It reports false if it cannot tell all.
func (h *holder) strays(c *child) (all []stray, ok bool) {
	if h.generation == 0 {
		return nil, true
	}
	own, _ := os.Readlink("/proc/" + strconv.Itoa(c.pid) + "/exe")
	for late := time.Now().Add(execTime); ; time.Sleep(time.Millisecond) {
		killTrapped()
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
			before = before || exe == own
			all = append(all, stray{pid, 0, 0})
		}
		if !before || time.Now().After(late) {
			return all, ok && !before
		}
	}
}

// reap reaps what has ended, as far as that is allowed now.
func (h *holder) reap() {
	killTrapped()
	for _, c := range []*child{h.now, h.next} {
		if c == nil || c.dead {
			continue
		}
		if e, ok := reap(c.pid); ok {
			c.dead, c.status = true, e
			if c == h.now {
				h.keeps, h.peak = true, max(h.peak, e.MaxRSS)
			}
			if c.drained {
				h.closed(c)
			} else {
				c.conn.finish()
			}
		}
	}
	for !h.keeps {
		pid := ended()
		switch {
		case pid == 0:
			return
		case h.now != nil && pid == h.now.pid, h.next != nil && pid == h.next.pid:
			h.again()
			return
		case h.now == nil || gone(h.now.pid):
			h.keeps = true // it may be one of the keeper's, which is about to end
			return
		}
		e, ok := reap(pid)
		if seq, awaited := h.seqs[pid]; ok && awaited {
			h.ended(seq, &e)
		}
	}
}

// again lets the holder reap once more soon.
func (h *holder) again() { h.after("reap", time.Millisecond, h.reap) }

// ended notes the end of an awaited leader, and tells it.
func (h *holder) ended(seq uint64, e *carry.Status) {
	if e.MaxRSS <= h.peak { // Linux counts the peak of the program that forked
		e.MaxRSS = 0
	}
	delete(h.seqs, h.awaited[seq])
	h.ends[seq] = e
	h.unsent = append(h.unsent, seq)
	h.tellEnds()
}

// tellEnds tells the keeper the ends that it does not know yet.
func (h *holder) tellEnds() {
	for len(h.unsent) > 0 && h.now != nil && !h.now.dead {
		seq := h.unsent[0]
		m := message{sayEnded}.number(seq)
		if e := h.ends[seq]; e != nil {
			m = m.end(e)
		}
		sent, err := h.now.conn.try(m)
		if err != nil {
			return // it has ended; the next one asks
		}
		if !sent {
			h.after("ends", resendTime, h.tellEnds)
			return
		}
		h.unsent = h.unsent[1:]
	}
}

// closed is called when a child says nothing any more: it has ended, or it has
// closed the connection.
func (h *holder) closed(c *child) {
	switch {
	case c != h.now && c != h.next:
		c.conn.close()
	case !c.dead:
		h.after("leave "+strconv.Itoa(c.pid), leaveTime, func() {
			if c.dead {
				return
			}
			// It goes on without a holder, and starts things that nobody tells.
			h.Logger.Warn("the keeper has left its holder", slog.Int("pid", c.pid))
			if c == h.now {
				h.over = true
			} else if c == h.next {
				h.nextFailed("it has closed its connection")
			}
		})
		h.reap() // most often it has just ended
	case c == h.next:
		c.conn.close()
		h.nextFailed("it has ended (" + say(c.status) + ")")
	default:
		c.conn.close()
		h.unset("commit")
		h.now = nil
		h.follow(c)
	}
}

// follow lets the next keeper follow one that has ended.
func (h *holder) follow(c *child) {
	discard(&h.offered)
	h.unsent = nil // the next one asks
	switch {
	case c.final:
		h.over = true
		return
	case c.served.IsZero() && h.generation <= 1:
		if h.Failed != nil {
			h.Failed(say(c.status))
		}
		h.over = true
		return
	case h.state != nil && !c.stated && h.next != nil && !h.next.checks: // an upgrade
		h.unset("check")
		h.now, h.next = h.next, nil
		h.earlier, h.program = h.program, h.now.program
		h.hand(h.now)
		return
	case h.next != nil:
		h.Logger.Warn("the keeper has ended during an upgrade")
		h.dropNext()
	}
	if c.served.IsZero() {
		h.unserved++
	} else {
		h.unserved = 0
		h.deaths = max(0, h.deaths-int(time.Since(c.served)/time.Second))
	}
	h.deaths++
	if c.stated && c.served.IsZero() && h.earlier != nil {
		_ = h.program.Close() // it could not go on, and the one before it can
		h.program, h.earlier = h.earlier, nil
	} else if c.stated && h.unserved > 2 {
		discard(&h.state)
	}
	h.Logger.Warn("the keeper has died", slog.Int("pid", c.pid), slog.String("status", say(c.status)), slog.Int("deaths", h.deaths))
	if h.unserved >= maxUnserved || h.deaths >= maxDeaths {
		h.Logger.Error("keepers die again and again, and no other one is started")
		h.over = true
		return
	}
	pause := time.Duration(0)
	if h.unserved > 0 {
		pause = unservedPause << (h.unserved - 1)
	} else if more := h.deaths - freeDeaths; more > 0 {
		pause = min(time.Duration(more)*time.Millisecond, maxPause)
	}
	if pause == 0 {
		h.restart()
		return
	}
	h.after("restart", pause, h.restart)
}

func (h *holder) restart() {
	c, err := h.start(h.program, nil)
	if err != nil {
		h.Logger.Error("the keeper cannot be started again", slog.String("error", err.Error()))
		if h.unserved++; h.unserved >= maxUnserved {
			h.over = true
			return
		}
		h.after("restart", unservedPause<<h.unserved, h.restart)
		return
	}
	h.now = c
	h.hand(c)
}

// say returns an end as a part of a sentence.
func say(e carry.Status) string {
	if e.Signal != 0 {
		return "signal: " + syscall.Signal(e.Signal).String()
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

func discard(f **os.File) {
	if *f != nil {
		_ = (*f).Close() // nobody needs it
		*f = nil
	}
}
