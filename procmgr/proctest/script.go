package proctest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path"
	"regexp"
	"regexp/syntax"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/callerr"
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
// It passes the suite of this package, with plays that do what a shell does, but for
// what only an operating system can tell: whether a directory can be used
// (directory/missing), where the home is (directory/home), and that a program has closed
// its stdin (input/no reader). It takes patterns that can match no line (until/refuses,
// events/notify refused). Where a Host may be unable to tell or do something, it
// is: it has no terminals, ports, members, changes, highlights and questions, and masks
// nothing.
type Script struct {
	scriptView // the view of the host itself

	// Description is the answer of Describe. It must not be set after the first call.
	Description procmgr.Description

	made time.Time

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
	out      *headtail.Buffer
	live     string
	notify   *regexp.Regexp // nil once it has matched
	stdin    []byte
	noInput  bool // nothing comes any more
	wrote    map[string]wrote
	signals  chan procmgr.Signal // nil if signals end it
	ended    procmgr.Signal      // ended it; "" if none has
	endCause procmgr.Cause
}

// A wrote is an input with a key.
type wrote struct {
	what string
	from int64
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

// Write prints. It never fails.
func (c *Command) Write(text []byte) (int, error) {
	c.lock()
	defer c.s.mu.Unlock()
	_, _ = c.out.Write(text)
	c.live = ""
	c.tellMatch()
	c.s.change()
	return len(text), nil
}

// Redraw shows a line that the command is still redrawing, such as a progress line,
// without an offset. The next Redraw or Write replaces it.
func (c *Command) Redraw(line string) {
	c.lock()
	defer c.s.mu.Unlock()
	c.live = line
	c.s.change()
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

// Signals returns the channel to which Terminate and Interrupt go from then on. They do
// not end the command any more.
func (c *Command) Signals() <-chan procmgr.Signal {
	c.lock()
	defer c.s.mu.Unlock()
	if c.signals == nil {
		c.signals = make(chan procmgr.Signal, 100)
	}
	return c.signals
}

// Detach exits with a code as a shell does that leaves children behind. The play goes on
// as those, and its own result does not count.
func (c *Command) Detach(exitCode int) {
	c.lock()
	defer c.s.mu.Unlock()
	c.exit(exitCode)
	c.p.State = procmgr.Detached
	c.s.tell(procmgr.EventDetached, c, "")
}

// lifetimeGrace is how long a command has between Terminate and Kill at the end of its
// lifetime.
const lifetimeGrace = 5 * time.Second

// play runs a play. Script.Close waits for it.
func (c *Command) play(play func(*Command) int) {
	code := 0
	if lifetime := min(c.Request.MaxLifetime, math.MaxInt64-lifetimeGrace); lifetime > 0 {
		for after, sig := range map[time.Duration]procmgr.Signal{lifetime: procmgr.Terminate, lifetime + lifetimeGrace: procmgr.Kill} {
			defer time.AfterFunc(after, func() {
				c.s.mu.Lock()
				defer c.s.mu.Unlock()
				if c.p.State != procmgr.Exited {
					c.end(sig, procmgr.CauseLifetime)
				}
			}).Stop()
		}
	}
	defer func() { // also if the play was ended
		c.s.mu.Lock()
		defer c.s.mu.Unlock()
		defer c.s.playing.Done()
		defer c.cancel()
		c.exit(code)
		_, c.live = c.out.Close(), ""
		c.p.State, c.p.ExitedAt = procmgr.Exited, time.Now()
		c.tellMatch()
		c.s.tell(procmgr.EventExited, c, "")
	}()
	code = play(c)
}

// signalNames have the numbers of Linux.
var signalNames = map[int]string{1: "SIGHUP", 2: "SIGINT", 6: "SIGABRT", 9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 13: "SIGPIPE", 15: "SIGTERM"}

// exit notes how the leader has ended, unless it has ended before.
func (c *Command) exit(code int) {
	if c.ended != "" {
		code = map[procmgr.Signal]int{procmgr.Terminate: -15, procmgr.Interrupt: -2, procmgr.Kill: -9}[c.ended]
	}
	if c.p.ExitCode == nil {
		c.p.EndedBy = procmgr.CauseExit
		if code < 0 {
			c.p.EndedBy, c.p.Signal = procmgr.CauseSignal, cmp.Or(signalNames[-code], fmt.Sprint("signal ", -code))
			code = 128 - code
		}
		c.p.ExitCode = &code
	}
	c.p.EndedBy = cmp.Or(c.endCause, c.p.EndedBy)
}

// end ends a command, or has its play do it.
func (c *Command) end(sig procmgr.Signal, cause procmgr.Cause) {
	if c.endCause == "" || cause == procmgr.CauseLifetime {
		c.endCause = cause
	}
	if c.signals != nil && sig != procmgr.Kill {
		select {
		case c.signals <- sig:
		default: // as the system drops a signal that is pending already
		}
		return
	}
	c.ended = cmp.Or(c.ended, sig)
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

// size is how many bytes have been printed, without an incomplete rune at the end.
func (c *Command) size() int64 { return c.out.Snapshot(math.MaxInt64).Total }

// output returns the output from an offset on.
func (c *Command) output(from int64, limit headtail.Limits) procmgr.Output {
	snapshot := c.out.Snapshot(from)
	out := procmgr.Output{Process: c.process(), Next: snapshot.Total}
	snapshot.Head, snapshot.Total = append(snapshot.Head, c.live...), snapshot.Total+int64(len(c.live))
	out.Text, out.Truncated = snapshot.Text(limit)
	out.Live = out.Text[len(out.Text)-min(len(c.live), len(out.Text)):]
	return out
}

// search looks for a pattern in the lines from an offset on; nil matches any output. The
// result has nothing but what was found.
func (c *Command) search(until *regexp.Regexp, from int64) (res procmgr.Output) {
	text := append(c.out.Snapshot(from).Head, c.live...)
	if until == nil {
		return procmgr.Output{Matched: len(text) > 0, MatchedAt: from}
	}
	for line := range bytes.Lines(text) {
		n := int64(len(line))
		line = bytes.TrimSuffix(line, []byte("\n"))
		if m := until.FindIndex(line[:min(len(line), 4096)]); m != nil {
			res.Matched, res.MatchedLine, res.MatchedAt = true, around(line, m[0], 300), from
			return res
		}
		from += n
		res.Unsearched += max(int64(len(line))-4096, 0)
	}
	return res
}

// around returns a part of a line from shortly before an offset on, in at most so many
// bytes.
func around(line []byte, at, most int) string {
	if len(line) <= most {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	begin := max(0, at-most/3)
	return "…" + strings.ToValidUTF8(string(line[begin:min(len(line), begin+most-2*len("…"))]), "") + "…"
}

// tellMatch tells of the first line that Notify matches.
func (c *Command) tellMatch() {
	if c.notify == nil {
		return
	}
	if found := c.search(c.notify, 0); found.Matched {
		c.notify = nil
		c.s.tell(procmgr.EventMatched, c, found.MatchedLine)
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

// A scriptView is the view of a chat, or of the host itself.
type scriptView struct {
	s    *Script
	chat string // "" for the host
	bad  error  // of every call, if there can be no such chat
}

func (v scriptView) Start(ctx context.Context, req procmgr.StartRequest) (out procmgr.Output, err error) {
	defer func() { err = callerr.Wrap("start", req.ID, err) }()
	notify, err := pattern(req.Notify)
	if err := cmp.Or(v.bad, err, ctx.Err(), requests.Start(req)); err != nil {
		return procmgr.Output{}, err
	}
	if req.Stdin == procmgr.StdinTerminal {
		return procmgr.Output{}, xerrors.Errorf("a script has no terminals: %w", errors.ErrUnsupported)
	}
	if req.Notify == "." { // not even an empty line
		notify = regexp.MustCompile(".")
	}
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	c, err := v.find(req.ID, true)
	attached := c != nil
	switch {
	case v.s.closed:
		return procmgr.Output{}, procmgr.ErrClosed
	case errors.Is(err, procmgr.ErrConflict), attached && idempotency.OfStart(c.Request) != idempotency.OfStart(req):
		return procmgr.Output{}, xerrors.Errorf("the ID is spent, or of another command: %w", procmgr.ErrConflict)
	case !attached:
		if err := requests.Age(req.Age, v.s.made); err != nil {
			return procmgr.Output{}, err
		}
		c = v.begin(req, notify)
	}
	err = v.s.wait(ctx, req.Wait, func() bool { return c.p.State != procmgr.Running })
	out = c.output(0, req.Limit)
	out.Attached = attached
	return out, err
}

// begin begins to play a command.
func (v scriptView) begin(req procmgr.StartRequest, notify *regexp.Regexp) *Command {
	s, n := v.s, len(v.s.commands)
	req.ID, req.Env = cmp.Or(req.ID, procmgr.NewID()), maps.Clone(req.Env)
	c := &Command{Request: req, s: s, out: headtail.New(math.MaxInt32, 0), notify: notify, noInput: req.Stdin == procmgr.StdinEmpty, wrote: map[string]wrote{}, p: procmgr.Process{
		ID: req.ID, ChatID: v.chat, Command: req.Command, WorkDir: path.Join("/", req.WorkDir), Background: req.Background, Stdin: req.Stdin,
		PID: 1000 + n, State: procmgr.Running, StartedAt: time.Now(),
	}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	play := Prints("no play is scripted for this command\n", 127)
	for _, scene := range slices.Backward(s.scenes) {
		if len(scene.plays) > 0 && scene.pattern.MatchString(req.Command) {
			play = scene.plays[min(scene.played, len(scene.plays)-1)]
			scene.played++
			break
		}
	}
	s.commands = append(s.commands, c)
	s.tell(procmgr.EventStarted, c, "")
	s.playing.Add(1)
	go c.play(play)
	return c
}

// find returns the command with an ID that the view shows. Start has its own chat alone
// in view, and what a stop has spent is a conflict there.
func (v scriptView) find(id string, starting bool) (found *Command, err error) {
	if starting && v.s.spent[[2]string{v.chat, id}] {
		return nil, procmgr.ErrConflict
	}
	for _, c := range v.s.commands {
		if c.p.ID != id || c.p.ChatID != v.chat && (v.chat != "" || starting) {
			continue
		}
		if found != nil {
			return nil, xerrors.Errorf("several chats have it: %w", procmgr.ErrConflict)
		}
		found = c
	}
	if found == nil {
		err = procmgr.ErrNotFound
	}
	return found, err
}

// pattern compiles an Until. It returns nil for "." and "".
func pattern(expr string) (*regexp.Regexp, error) {
	if expr == "" || expr == "." {
		return nil, nil
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err == nil {
		if prog, _ := syntax.Compile(tree.Simplify()); len(expr) > 256 || len(prog.Inst) > 1000 {
			err = errors.New("the pattern is too long")
		}
	}
	if err != nil {
		return nil, xerrors.Errorf("%v: %w", err, procmgr.ErrInvalid)
	}
	return regexp.Compile(expr)
}

func (v scriptView) Output(ctx context.Context, id string, req procmgr.OutputRequest) (out procmgr.Output, err error) {
	defer func() { err = callerr.Wrap("output", id, err) }()
	until, err := pattern(req.Until)
	if err := cmp.Or(v.bad, err, ctx.Err()); err != nil {
		return procmgr.Output{}, err
	}
	if req.Ports || req.Members || req.UntilListening != 0 {
		return procmgr.Output{}, xerrors.Errorf("a script has no ports and no members: %w", errors.ErrUnsupported)
	}
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	c, err := v.find(id, false)
	if err != nil {
		return procmgr.Output{}, err
	}
	from, known := c.out.Snapshot(req.From).From, cmp.Or(req.State, c.p.State)
	return c.await(ctx, req.Wait, req.Until, until, from, req.Limit, func() bool { return c.p.State != known || c.p.State == procmgr.Exited })
}

// await waits until a pattern matches or done reports true, and returns the output from
// an offset on.
func (c *Command) await(ctx context.Context, wait time.Duration, until string, compiled *regexp.Regexp, from int64, limit headtail.Limits, done func() bool) (procmgr.Output, error) {
	var found procmgr.Output
	matched := func() bool {
		if until != "" {
			found = c.search(compiled, from)
		}
		return found.Matched
	}
	err := c.s.wait(ctx, wait, func() bool { return matched() || done() })
	if err != nil {
		return procmgr.Output{}, err
	}
	matched()
	out := c.output(from, limit)
	out.Matched, out.MatchedLine, out.MatchedAt, out.Unsearched = found.Matched, found.MatchedLine, found.MatchedAt, found.Unsearched
	return out, nil
}

func (v scriptView) Input(ctx context.Context, id string, req procmgr.InputRequest) (res procmgr.InputOutput, err error) {
	defer func() { err = callerr.Wrap("input", id, err) }()
	until, err := pattern(req.Until)
	if err := cmp.Or(v.bad, err, ctx.Err(), requests.Input(req)); err != nil {
		return res, err
	}
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	c, err := v.find(id, false)
	if err != nil {
		return res, err
	}
	first := wrote{what: fmt.Sprintf("%q %v %v %v", req.Data, req.Keys, req.Close, req.Secret), from: c.size()}
	before, again := c.wrote[req.IdempotencyKey]
	switch {
	case c.Request.Stdin == procmgr.StdinEmpty, len(req.Keys) > 0, req.Secret, c.noInput && len(req.Data) > 0 && !again:
		return res, xerrors.Errorf("it has no stdin, that is closed, or it is a pipe without keys: %w", procmgr.ErrInvalid)
	case again && before.what != first.what:
		return res, xerrors.Errorf("the key has written something else: %w", procmgr.ErrConflict)
	case again:
		first = before
	case c.p.State == procmgr.Exited && requests.Writes(req):
		return res, procmgr.ErrNotRunning
	default:
		c.stdin, c.noInput = append(c.stdin, req.Data...), c.noInput || req.Close
		if req.IdempotencyKey != "" {
			c.wrote[req.IdempotencyKey] = first
		}
		v.s.change()
	}
	known, end := c.p.State, time.Now().Add(req.Wait)
	if req.Until == "" && req.UntilQuiet == 0 {
		req.Wait = 0
	}
	for quiet, n := max(req.UntilQuiet, 2*time.Second), first.from; ; quiet, n = req.UntilQuiet, c.size() {
		wait := req.Wait
		if req.UntilQuiet > 0 {
			wait = min(time.Until(end), quiet)
		}
		res.Output, err = c.await(ctx, wait, req.Until, until, first.from, req.Limit, func() bool {
			return c.p.State != known || c.p.State == procmgr.Exited || req.UntilQuiet > 0 && c.size() > n
		})
		if res.Written = len(req.Data); err != nil || c.size() == n || res.Matched || c.p.State != known || req.UntilQuiet == 0 {
			return res, err
		}
	}
}

func (v scriptView) Signal(ctx context.Context, id string, sig procmgr.Signal) (err error) {
	defer func() { err = callerr.Wrap("signal", id, err) }()
	if err := cmp.Or(v.bad, requests.Signal(sig), requests.ID(id), ctx.Err()); err != nil {
		return err
	}
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	c, err := v.find(id, false)
	if errors.Is(err, procmgr.ErrNotFound) && sig != procmgr.Interrupt {
		v.s.spent[[2]string{v.chat, id}] = true
	}
	switch {
	case err != nil:
		return err
	case c.p.State == procmgr.Exited:
		return procmgr.ErrNotRunning
	}
	c.end(sig, procmgr.CauseRequest)
	if sig != procmgr.Kill {
		return nil
	}
	if err := v.s.wait(ctx, 5*time.Second, func() bool { return c.p.State == procmgr.Exited }); err != nil || c.p.State == procmgr.Exited {
		return err
	}
	return errors.New("its play goes on after 5 s: it has to look at Command.Context")
}

func (v scriptView) List(_ context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	var all []procmgr.Process
	for _, c := range v.s.commands {
		if v.chat == "" || c.p.ChatID == v.chat {
			all = append(all, c.process())
		}
	}
	page, err := procmgr.PageOf(all, req)
	if v.bad != nil {
		page, err = procmgr.ListPage{}, v.bad
	}
	return page, callerr.Wrap("list", "", err)
}

func (v scriptView) Events(ctx context.Context, req procmgr.EventsRequest) (page procmgr.EventPage, err error) {
	defer func() { err = callerr.Wrap("events", "", err) }()
	if err := cmp.Or(v.bad, ctx.Err()); err != nil {
		return page, err
	}
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	at, unknown := strconv.Atoi(cmp.Or(req.After, "0"))
	if page.Gap = unknown != nil || at < 0 || at > len(v.s.log); page.Gap {
		at = 0
	}
	seen := func() bool {
		for ; at < len(v.s.log) && (req.Limit < 0 || len(page.Events) < cmp.Or(req.Limit, 100)); at++ {
			if e := v.s.log[at]; v.chat == "" || e.Process.ChatID == v.chat {
				page.Events = append(page.Events, e)
			}
		}
		page.Next = strconv.Itoa(at)
		return len(page.Events) > 0 || page.Gap
	}
	if !seen() {
		err = v.s.wait(ctx, req.Wait, seen)
	}
	return page, err
}

func (v scriptView) Describe(context.Context) (procmgr.Description, error) {
	return v.s.Description, callerr.Wrap("describe", "", v.bad)
}
