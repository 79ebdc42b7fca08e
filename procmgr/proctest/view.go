package proctest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/toolproc/toolproc/procmgr"
)

// A view is the Manager of a chat, or of the host itself, as the cases call it. A
// method whose name begins with try returns the error of the host. The method of that
// name without try ends the case on any error.
type view struct {
	c    *check
	m    procmgr.Manager
	to   procmgr.Host // nil for the view of a chat
	chat string       // "" for the host itself
}

// id returns an ID that no process has.
func (c *check) id() string { return procmgr.NewID() }

// chatName returns the ID of a chat that belongs to this case alone.
func (c *check) chatName(name string) string { return c.mark + " " + name }

// chat returns the view of a chat that belongs to this case alone.
func (c *check) chat(name string) *view { return c.chatNamed(c.chatName(name)) }

func (c *check) chatNamed(name string) *view {
	return &view{c: c, m: c.host.to.Chat(name), chat: name}
}

// own returns the view that starts processes of no chat. A host of many machines has
// none for them, and refuses with ErrInvalid: then a chat takes its place.
func (c *check) own() *view {
	if c.owner == nil {
		c.owner = c.host
		_, err := c.host.tryStart(procmgr.StartRequest{Command: "exit 0", Wait: c.long})
		if errors.Is(err, procmgr.ErrInvalid) {
			c.owner = c.chat("of the host")
		}
	}
	return c.owner
}

func (v *view) tryStart(req procmgr.StartRequest) (procmgr.Output, error) {
	return v.tryStartIn(v.c.ctx, req)
}

func (v *view) tryStartIn(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	return call(v.c, func() (procmgr.Output, error) {
		out, err := v.m.Start(ctx, req)
		id := out.Process.ID
		if id == "" {
			id = req.ID
		}
		if id != "" {
			v.c.atEnd(func(ctx context.Context) { _ = v.m.Signal(ctx, id, procmgr.Kill) })
		}
		return out, err
	})
}

func (v *view) start(req procmgr.StartRequest) procmgr.Output {
	out, err := v.tryStart(req)
	v.c.fatalIf(err != nil, "Start of %.100q failed: %s", req.Command, told(err))
	return out
}

// run starts a command and waits until it ends or is detached.
func (v *view) run(command string) procmgr.Output {
	return v.runAs(procmgr.StartRequest{Command: command})
}

// runAs is run with a full request.
func (v *view) runAs(req procmgr.StartRequest) procmgr.Output {
	req.Wait = v.c.long
	out := v.start(req)
	v.c.fatalIf(out.Process.State == procmgr.Running,
		"Start of %.100q returned while the process %q still runs: a wait of %v ends when the command ends", req.Command, out.Process.ID, req.Wait)
	return out
}

// begin starts a command, waits until it has printed the line "ready", and returns
// its ID.
func (v *view) begin(command string) string {
	return v.beginAs(procmgr.StartRequest{Command: command}).Process.ID
}

// beginAs is begin with a full request.
func (v *view) beginAs(req procmgr.StartRequest) procmgr.Output {
	return v.until(v.start(req).Process.ID, 0, "^ready$")
}

// sleeper starts a process that runs until it is ended, and returns its ID.
func (v *view) sleeper() string {
	return v.begin(sleeps)
}

// sleeps is the command of a sleeper. It does not sleep for ever, so that it
// ends at last even if the host cannot end it.
const sleeps = "echo ready; exec sleep 600"

func (v *view) tryRead(id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	return v.tryReadIn(v.c.ctx, id, req)
}

func (v *view) tryReadIn(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	return call(v.c, func() (procmgr.Output, error) { return v.m.Output(ctx, id, req) })
}

func (v *view) read(id string, req procmgr.OutputRequest) procmgr.Output {
	out, err := v.tryRead(id, req)
	if err != nil {
		what := ""
		if errors.Is(err, errLasted) {
			what = fmt.Sprintf(" with the request %+v; the state is %s, Matched %v, the output %s", req, out.Process.State, out.Matched, excerpt(out.Text))
		}
		v.c.fatalf("Output of the process %q failed: %s%s", id, told(err), what)
	}
	return out
}

// look reads without a wait.
func (v *view) look(id string) procmgr.Output {
	return v.read(id, procmgr.OutputRequest{})
}

// until waits until output from an offset on has matched a pattern.
func (v *view) until(id string, from int64, pattern string) procmgr.Output {
	out := v.read(id, procmgr.OutputRequest{From: from, Until: pattern, Wait: v.c.long})
	v.c.fatalIf(!out.Matched,
		"waiting with Until %q for the output of %.100q from %d on ended without Matched; state %s, output %s", pattern, out.Process.Command, from, out.Process.State, excerpt(out.Text))
	return out
}

// ended waits until nothing of a process is left.
func (v *view) ended(id string) procmgr.Output {
	out := v.read(id, procmgr.OutputRequest{Wait: v.c.long})
	for range 3 { // it may be detached first
		if out.Process.State == procmgr.Exited {
			return out
		}
		out = v.read(id, procmgr.OutputRequest{Wait: v.c.long})
	}
	v.c.fatalf("the process %q is %s, and had to end; the waits for its end ended without it", id, out.Process.State)
	return out
}

// reading reads in another goroutine.
func (v *view) reading(ctx context.Context, id string, req procmgr.OutputRequest) func() (procmgr.Output, error) {
	return later(func() (procmgr.Output, error) { return v.tryReadIn(ctx, id, req) })
}

// meanwhile reads while f is called, which ends the wait.
func (v *view) meanwhile(id string, req procmgr.OutputRequest, f func()) procmgr.Output {
	req.Wait = v.c.long
	answer := v.reading(v.c.ctx, id, req)
	f()
	out, err := answer()
	v.c.fatalIf(err != nil,
		"Output of the process %q with the request %+v failed: %s; state %s, Matched %v, output %s", id, req, told(err), out.Process.State, out.Matched, excerpt(out.Text))
	return out
}

func (v *view) tryList(req procmgr.ListRequest) (procmgr.ListPage, error) {
	return call(v.c, func() (procmgr.ListPage, error) { return v.m.List(v.c.ctx, req) })
}

func (v *view) list() []procmgr.Process {
	page, err := v.tryList(procmgr.ListRequest{})
	v.c.fatalIf(err != nil, "List failed: %s", told(err))
	return page.Processes
}

// listed returns the process of a chat that has started one.
func (v *view) listed() procmgr.Process {
	all := v.list()
	v.c.fatalIf(len(all) != 1, "List has %d processes of a chat that has started one: %+v", len(all), all)
	return all[0]
}

func (v *view) trySignal(id string, sig procmgr.Signal) error {
	_, err := call(v.c, func() (struct{}, error) { return struct{}{}, v.m.Signal(v.c.ctx, id, sig) })
	return err
}

func (v *view) signal(id string, sig procmgr.Signal) {
	if err := v.trySignal(id, sig); err != nil {
		v.c.fatalf("Signal %s of the process %q failed: %s", sig, id, told(err))
	}
}

func (v *view) kill(id string) {
	v.signal(id, procmgr.Kill)
}

func (v *view) describe() procmgr.Description {
	d, err := call(v.c, func() (procmgr.Description, error) { return v.m.Describe(v.c.ctx) })
	v.c.fatalIf(err != nil, "Describe failed: %s", told(err))
	return d
}

// is fails if err is not the error that the call must return.
func (c *check) is(err, want error, format string, args ...any) {
	if !errors.Is(err, want) {
		c.errorf("%s had to fail with the error %q, and the result is %s", fmt.Sprintf(format, args...), want.Error(), told(err))
	}
}

// refuses fails if Start does not fail with an error, or if it returns an ID, as if it may
// have run something.
func (v *view) refuses(req procmgr.StartRequest, want error, format string, args ...any) {
	out, err := v.tryStart(req)
	v.c.is(err, want, format, args...)
	v.c.errorIf(out.Process.ID != "", "%s returned the ID %q, as if it may have run something", fmt.Sprintf(format, args...), out.Process.ID)
}

func errOf[T any](_ T, err error) error { return err }

// told returns the words for an error in a message.
func told(err error) string {
	if err == nil {
		return "success"
	}
	return fmt.Sprintf("the error %q", err.Error())
}

// isOneOf reports whether an error is one of two.
func isOneOf(err, a, b error) bool { return errors.Is(err, a) || errors.Is(err, b) }

// runs fails if a process has ended, or ends within a moment, as it would if something
// had told it to end.
func (v *view) runs(id, although string) {
	if state := v.read(id, procmgr.OutputRequest{Wait: brief}).Process.State; state != procmgr.Running {
		v.c.errorf("the process %q is %s %s", id, state, although)
	}
}

// code returns the words for an exit code in a message.
func code(p procmgr.Process) string {
	if p.ExitCode == nil {
		return "none"
	}
	return fmt.Sprint(*p.ExitCode)
}

// exited fails if a process has not ended in the wanted way. A signal is meant if
// wantCode is the exit code of one of the suite's signals and the process did not exit by
// itself. A sandbox may have a program in front of the shell, which only passes on the
// exit code of a shell that a signal has ended.
func (c *check) exited(p procmgr.Process, wantCode int, cause procmgr.Cause) {
	signal := ""
	if cause != procmgr.CauseExit {
		signal = map[int]string{130: "SIGINT", 137: "SIGKILL", 142: "SIGALRM", 143: "SIGTERM"}[wantCode]
	}
	if p.Signal == "" && signal != "" && c.host.describe().Sandbox != nil {
		signal = ""
		if cause == procmgr.CauseSignal {
			cause = procmgr.CauseExit
		}
	}
	if want := fmt.Sprint(wantCode); p.State != procmgr.Exited || code(p) != want || p.Signal != signal || p.EndedBy != cause {
		c.errorf("%.100q had to be exited with code %s, Signal %q, EndedBy %q, and is %s with code %s, Signal %q, EndedBy %q",
			p.Command, want, signal, cause, p.State, code(p), p.Signal, p.EndedBy)
	}
}

// result fails if a command has not exited by itself with a code, after it had printed
// a text.
func (c *check) result(out procmgr.Output, wantCode int, text string) {
	c.exited(out.Process, wantCode, procmgr.CauseExit)
	c.text(out, text)
}

// text fails if an output is not the wanted text.
func (c *check) text(out procmgr.Output, want string) {
	c.errorIf(out.Text != want, "%.100q printed %s and the output is %s", out.Process.Command, excerpt(want), excerpt(out.Text))
}

// printed fails if the output of a command that has exited is not text, or if it does
// not end after as many bytes, or if something is missing.
func (c *check) printed(out procmgr.Output, text string, bytes int) {
	c.text(out, text)
	c.errorIf(out.Next != int64(bytes) || out.Truncated != nil,
		"%.100q printed %d bytes and nothing is left out; Next is %d, Truncated %+v", out.Process.Command, bytes, out.Next, out.Truncated)
}

// excerpt quotes a text. It leaves out the middle of a long one.
func excerpt(s string) string {
	const most = 200
	if len(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q…%q (%d bytes)", s[:most/2], s[len(s)-most/2:], len(s))
}

// dir makes a directory on the host, and the end of the case removes it. Its
// path has no symbolic link.
func (v *view) dir() string {
	out := v.run(`cd "$(mktemp -d)" && pwd -P`)
	dir := strings.TrimSuffix(out.Text, "\n")
	v.c.fatalIf(len(dir) < 2 || dir[0] != '/' || strings.ContainsAny(dir, "'\n"),
		"a directory could not be made on the host; it needs mktemp: output %s", excerpt(out.Text))
	v.c.atEnd(func(ctx context.Context) {
		_, _ = v.m.Start(ctx, procmgr.StartRequest{Command: "rm -rf " + quote(dir), Wait: v.c.long})
	})
	return dir
}

// quote makes one shell word of a path from dir, or of a path below it.
func quote(path string) string { return "'" + path + "'" }

// file reads a file on the host. If there is none, it returns "".
func (v *view) file(name string) string {
	return v.run("cat " + quote(name) + " 2>/dev/null || :").Text
}

// A puppet is a process that runs the orders it gets, as soon as it gets them.
type puppet struct {
	*view
	req  procmgr.StartRequest
	id   string
	in   string // the FIFO of its orders
	end  int64  // offset of the end of its output when it was ready, or before it last arrived
	next int64  // offset of the end of its output when it last arrived
}

// puppet starts a puppet. It holds both ends of its FIFO, so that it never reads an end of
// file.
func (v *view) puppet() *puppet {
	in := v.dir() + "/in"
	req := procmgr.StartRequest{ID: v.c.id(), Command: "mkfifo " + quote(in) + " && exec 3<>" + quote(in) + " && echo ready\n" + obeys}
	out := v.beginAs(req)
	v.c.fatalIf(out.Next != int64(len(out.Text)), "%d bytes have been printed, and Next is %d", len(out.Text), out.Next)
	return &puppet{view: v, req: req, id: req.ID, in: in, end: out.Next, next: out.Next}
}

// obeys runs the orders of a FIFO that is open as 3. It ends at last if no order comes,
// unless the shell has no read -t, as dash. Then its children are left.
const obeys = `limit=; (read -t 1 -r x </dev/null) 2>/dev/null; test $? -le 1 && limit="-t 600"
while IFS= read $limit -r order <&3; do eval "$order"; done`

// tell has the puppet run a line of shell. It returns once the order is in the
// puppet's FIFO. If the puppet has ended, the order is lost.
func (p *puppet) tell(order string) {
	p.start(procmgr.StartRequest{
		Command: `exec 3<>"$IN"; printf '%s\n' "$ORDER" >&3`,
		Env:     map[string]string{"ORDER": order, "IN": p.in},
		Wait:    p.c.long,
	})
}

// waiting waits with a request for what an order brings about.
func (p *puppet) waiting(req procmgr.OutputRequest, order string) procmgr.Output {
	return p.meanwhile(p.id, req, func() { p.tell(order) })
}

// exits has the puppet run an order that ends it, and fails if it does not exit with a
// code and a last line.
func (p *puppet) exits(order, last string, wantCode int) {
	p.tell(order)
	p.c.result(p.ended(p.id), wantCode, "ready\n"+last)
}

// A lifeline shows when processes have ended, without their PIDs: they hold a
// FIFO open, and a reader of that FIFO ends when the last of them is gone.
type lifeline struct {
	*view
	fifo string
	id   string // of the reader
}

// lifeline makes the FIFO.
func (v *view) lifeline() *lifeline {
	l := &lifeline{view: v, fifo: v.dir() + "/alive"}
	if out := v.run("mkfifo " + quote(l.fifo) + " && echo made"); out.Text != "made\n" {
		v.c.fatalf("a FIFO could not be made on the host; it needs mkfifo: output %s", excerpt(out.Text))
	}
	return l
}

// hold returns the beginning of a script whose processes are to be watched. Its
// children inherit the FIFO.
func (l *lifeline) hold() string { return "exec 9<>" + quote(l.fifo) + "; " }

// watch begins to read. By then, the processes must hold the FIFO.
func (l *lifeline) watch() {
	// To open a FIFO for reading waits for a writer. So the reader holds the
	// FIFO itself until it has opened it.
	l.id = l.begin("exec 7<>" + quote(l.fifo) + " 8<" + quote(l.fifo) + " 7>&-; echo ready; exec cat <&8")
}

// cut waits until all processes that held the FIFO have ended.
func (l *lifeline) cut(format string, args ...any) {
	if _, err := l.tryRead(l.id, procmgr.OutputRequest{Wait: l.c.long}); err != nil {
		l.c.fatalf("%s live on after %v: they hold a FIFO, and waiting for its reader to end had the result %s", fmt.Sprintf(format, args...), l.c.long, told(err))
	}
}

// holds fails if no process holds the FIFO any more.
func (l *lifeline) holds(what string) {
	l.runs(l.id, "because "+what+" have ended")
}
