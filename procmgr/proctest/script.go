package proctest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
	requests "github.com/toolproc/toolproc/procmgr/internal/check"
	"github.com/toolproc/toolproc/procmgr/internal/idempotency"
)

// A Script is a [procmgr.Host] without processes, for the tests of an agent: Go
// functions play the commands. Make one with [NewScript]. All methods are safe for
// concurrent use.
//
// It keeps time by package time alone. In a bubble of testing/synctest, in which it has
// to be made, used and closed, an hour of a command takes no time.
//
// With plays that do what a shell does, it passes the cases of the suite that need no
// operating system. A command is running or exited, and never detached. Every signal ends
// it, and no MaxLifetime does. Every directory can be used, and a pipe always has a
// reader. Where a Host may be unable to tell or do something, it is: it has no terminals,
// ports, changes, highlights and questions, and masks nothing.
type Script struct {
	scriptView // the view of the host itself

	// Description is the answer of Describe. It must not be set after the first call.
	Description procmgr.Description

	made   time.Time
	output capture.Options // of its commands

	mu       sync.Mutex // guards the fields below, and the fields of its commands
	scenes   []*scene
	commands []*Command // in the order of their starts
	spent    map[[2]string]bool
	log      []procmgr.Event
	changed  chan struct{} // closed at the next change of anything; nil without a waiter
	closed   bool
	playing  sync.WaitGroup
}

// NewScript returns a Script without a scripted command. The caller must call Close.
func NewScript() *Script {
	s := &Script{made: time.Now(), spent: make(map[[2]string]bool)}
	s.output = capture.Options{Head: math.MaxInt32, Memory: new(atomic.Int64), Grown: func() {}}
	s.scriptView.s = s
	return s
}

// A scene is what Script.On was given.
type scene struct {
	pattern *regexp.Regexp
	plays   []func(*Command) int
	played  int
}

// On scripts the commands that match a pattern, in which * stands for any text and all
// else for itself. The first command that matches is played by the first of plays, and
// so on, and the last one plays all that follow. Of several patterns that match a
// command, the last one that was given counts. A command that matches none exits with
// 127.
//
// A play runs in a goroutine of its own, and returns the exit code; -n says that the
// signal n has ended the command. If the command is ended meanwhile, the next call of a
// method of Command does not return.
func (s *Script) On(pattern string, plays ...func(*Command) int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	expr := "(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$"
	s.scenes = append(s.scenes, &scene{pattern: regexp.MustCompile(expr), plays: plays})
}

// Prints returns a play that prints a text and exits.
func Prints(text string, exitCode int) func(*Command) int {
	return func(c *Command) int {
		fmt.Fprint(c, text)
		return exitCode
	}
}

// Started returns the requests that have started a command, in their order.
func (s *Script) Started() []procmgr.StartRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]procmgr.StartRequest, len(s.commands))
	for i, c := range s.commands {
		all[i] = c.Request
	}
	return all
}

// Close ends all commands, waits for their plays, and returns nil. Start is ErrClosed
// from then on.
func (s *Script) Close() error {
	s.mu.Lock()
	s.closed = true
	for _, c := range s.commands {
		c.end(procmgr.Kill, procmgr.CauseShutdown)
	}
	s.mu.Unlock()
	s.playing.Wait()
	return nil
}

// A Command is a command that a play plays. To write to it is to print, and to read
// from it is to read its stdin. After the end of the command, no method but Process
// returns.
type Command struct {
	// Request is the request that has started it. It must not be changed.
	Request procmgr.StartRequest

	s        *Script
	ctx      context.Context // ends when the command has to
	cancel   context.CancelFunc
	p        procmgr.Process
	out      *capture.Stream
	stdin    []byte
	noInput  bool                           // nothing comes any more
	wrote    idempotency.Memo[capture.Mark] // where the output ended before each input
	ended    procmgr.Signal                 // ended it; "" if none has
	endCause procmgr.Cause
}

// Context ends when the command has to end.
func (c *Command) Context() context.Context { return c.ctx }

// Process returns the process as it is now.
func (c *Command) Process() procmgr.Process {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return c.process()
}

// lock locks the script, or ends the play if the command has ended.
func (c *Command) lock() {
	if c.ctx.Err() != nil {
		runtime.Goexit()
	}
	c.s.mu.Lock()
}

// Write prints. It never fails. As on a terminal, a carriage return begins the line anew.
func (c *Command) Write(text []byte) (int, error) {
	c.lock()
	defer c.s.mu.Unlock()
	c.out.Add(text)
	c.s.change()
	return len(text), nil
}

// Read reads the stdin. It waits for input, and returns io.EOF at its end.
func (c *Command) Read(into []byte) (n int, err error) {
	c.lock()
	err = c.s.wait(c.ctx, 1<<62, func() bool { return len(c.stdin) > 0 || c.noInput })
	n = copy(into, c.stdin)
	c.stdin = c.stdin[n:]
	c.s.mu.Unlock()
	switch {
	case err != nil:
		runtime.Goexit()
	case n == 0 && len(into) > 0:
		return 0, io.EOF
	}
	return n, nil
}

// Sleep sleeps.
func (c *Command) Sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.ctx.Done():
		runtime.Goexit()
	}
}

// play runs a play. Script.Close waits for it.
func (c *Command) play(play func(*Command) int) {
	code := 0
	defer func() { // also if the play was ended
		c.s.mu.Lock()
		defer c.s.mu.Unlock()
		defer c.s.playing.Done()
		defer c.cancel()
		c.exit(code)
		c.out.End()
		c.p.State, c.p.ExitedAt = procmgr.Exited, time.Now()
		c.s.tell(procmgr.EventExited, c, "")
	}()
	code = play(c)
}

// signalNames have the numbers of Linux.
var signalNames = map[int]string{1: "SIGHUP", 2: "SIGINT", 6: "SIGABRT", 9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM"}

// exit notes how the command has ended.
func (c *Command) exit(code int) {
	if c.ended != "" {
		code = map[procmgr.Signal]int{procmgr.Terminate: -15, procmgr.Interrupt: -2, procmgr.Kill: -9}[c.ended]
	}
	cause := procmgr.CauseExit
	if code < 0 {
		cause, c.p.Signal = procmgr.CauseSignal, cmp.Or(signalNames[-code], fmt.Sprint("signal ", -code))
		code = 128 - code
	}
	c.p.ExitCode, c.p.EndedBy = &code, cmp.Or(c.endCause, cause)
}

// end has a command end. If it has to end already, the first reason counts.
func (c *Command) end(sig procmgr.Signal, cause procmgr.Cause) {
	if c.ended == "" {
		c.ended, c.endCause = sig, cause
	}
	c.cancel()
}

// process returns a snapshot.
func (c *Command) process() procmgr.Process {
	p := c.p
	if p.ExitCode != nil {
		p.ExitCode = new(*p.ExitCode)
	}
	p.Elapsed = time.Since(p.StartedAt)
	if p.State == procmgr.Exited {
		p.Elapsed = p.ExitedAt.Sub(p.StartedAt)
	}
	return p
}

// read returns the output from an offset on, and takes a matcher back; nil for none.
func (c *Command) read(from int64, limit headtail.Limits, m *capture.Matcher) procmgr.Output {
	page := c.out.Read(from, limit, m)
	return procmgr.Output{
		Process: c.process(), Text: page.Text, Truncated: page.Truncated, Next: page.Next, Live: page.Text[len(page.Text)-page.Live:],
		Matched: page.Matched, MatchedLine: page.Found.Line, MatchedAt: page.Found.Offset, Unsearched: page.Unsearched,
	}
}

// await waits in the current state until a matcher matches or done reports true.
func (c *Command) await(ctx context.Context, d time.Duration, state procmgr.State, m *capture.Matcher, done func() bool) error {
	return c.s.wait(ctx, d, func() bool { return c.past(state, m) || done() })
}

// past reports whether a wait that began in a state is over.
func (c *Command) past(state procmgr.State, m *capture.Matcher) bool {
	select {
	case <-m.Matched():
		return true
	default:
		return c.p.State != state || c.p.State == procmgr.Exited
	}
}

// change wakes all that wait.
func (s *Script) change() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// wait returns when done reports true, when a time is over, or with the error of ctx.
// It is called with mu held, and calls done so.
func (s *Script) wait(ctx context.Context, d time.Duration, done func() bool) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for d > 0 && !done() {
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-timer.C:
			d = 0
		case <-ctx.Done():
			s.mu.Lock()
			return ctx.Err()
		}
		s.mu.Lock()
	}
	return nil
}

// tell adds an event.
func (s *Script) tell(kind procmgr.EventKind, c *Command, line string) {
	p := c.process()
	if len(p.Command) > 256 {
		p.Command = strings.ToValidUTF8(p.Command[:256], "") + "…"
	}
	s.log = append(s.log, procmgr.Event{At: time.Now(), Kind: kind, Process: p, Line: line})
	s.change()
}

// Chat implements [procmgr.Host].
func (s *Script) Chat(id string) procmgr.Manager {
	return scriptView{s: s, chat: id, bad: requests.Chat(id)}
}
