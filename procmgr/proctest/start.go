package proctest

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

var startCases = []testCase{
	{"exit code", "Start waits for the end, and returns the exit code of the shell and all the output of the command", startExitCode},
	{"death by a signal", "if signal n ends the shell, the exit code is 128+n, Signal names it, and EndedBy is signal", startSignalDeath},
	{"a child's death by a signal", "the exit code is that of the shell: if a signal ends only a child of it, the shell has exited by itself", startChildDeath},
	{"returns once started", "with Wait 0, Start returns once the process has started, and says that it runs", startNoWait},
	{"wait ends at the time", "Start waits as long as the request says, and kills nothing when the time is up", startWaitTime},
	{"wait ends at the exit", "Start's wait ends when the command does", startWaitExit},
	{"outlives its context", "the process outlives the call that started it: ctx bounds the call alone", startOutlives},
	{"context ends during the wait", "ctx bounds the call: if it ends, Start returns its error and the ID of the process, and the process lives on", startCanceled},
	{"deadline during the wait", "ctx bounds the call: if it ends, Start returns its error and the ID of the process, and the process lives on", startDeadline},
	{"context ended before", "Start returns the error of a ctx that has ended; if it returns no ID, it ran nothing and the ID is unused", startEndedContext},
	{"refuses", "a request that can never work is ErrInvalid, starts nothing and returns no ID", startRefuses},
	{"IDs of the host", "an ID that the host makes has 1 to 64 characters of A-Z a-z 0-9 _ -, and no other process has it", startMadeIDs},
	{"IDs of the caller", "any 1 to 64 characters of A-Z a-z 0-9 _ - are an ID, whatever word they form", startChosenIDs},
	{"fields", "Start, Output and List say the same of a process, and it fits the state of the process", startFields},
	{"background is a label", "Background changes nothing but the label", startBackground},
}

func startExitCode(c *check) {
	m := c.chat("a")
	for _, tt := range []struct {
		command, text string
		code          int
	}{
		{"echo hello", "hello\n", 0},
		{"echo no >&2; exit 3", "no\n", 3},
		{"printf 'no newline'; exit 255", "no newline", 255},
		{"no-such-command-here 2>/dev/null", "", 127},
		{"true", "", 0},
	} {
		out := c.run(m, tt.command)
		c.exit(out.Process, tt.code, "", procmgr.CauseExit)
		c.text(out, tt.text)
		if out.Next != int64(len(tt.text)) {
			c.errorf("%q printed %d bytes and Next is %d", tt.command, len(tt.text), out.Next)
		}
		if out.Truncated != nil {
			c.errorf("Text has all the output of %q, and Truncated is %+v", tt.command, *out.Truncated)
		}
		if out.Attached {
			c.errorf("Start ran %q and says that it attached to another process", tt.command)
		}
	}
}

func startSignalDeath(c *check) {
	m := c.chat("a")
	for _, tt := range []struct {
		command, signal string
		code            int
	}{
		{"kill -KILL $$", "SIGKILL", 137},
		{"kill -TERM $$", "SIGTERM", 143},
		{"kill -USR1 $$", "SIGUSR1", c.number(m, "USR1") + 128},
	} {
		c.exit(c.run(m, tt.command).Process, tt.code, tt.signal, procmgr.CauseSignal)
	}
}

// number asks the host for the number of a signal, which differs by platform.
func (c *check) number(m procmgr.Manager, name string) int {
	c.Helper()
	out := c.run(m, "sh -c 'kill -"+name+" $$'; exit $(($? - 128))")
	if out.Process.ExitCode == nil {
		c.fatalf("%q has no exit code", out.Process.Command)
	}
	return *out.Process.ExitCode
}

func startChildDeath(c *check) {
	out := c.run(c.chat("a"), "(sh -c 'kill -KILL $$'; exit $?) 2>/dev/null")
	c.exit(out.Process, 137, "", procmgr.CauseExit)
}

func startNoWait(c *check) {
	m := c.chat("a")
	began := time.Now()
	p := c.start(m, procmgr.StartRequest{Command: "exec sleep 600"}).Process
	c.prompt(began, "Start without a wait did not return")
	if p.State != procmgr.Running {
		c.errorf("a command that has just started is %q, not %q", p.State, procmgr.Running)
	}
	if p.ID == "" || p.PID <= 0 || p.StartedAt.IsZero() {
		c.errorf("Start has returned and does not identify the process: ID %q, PID %d, StartedAt %v", p.ID, p.PID, p.StartedAt)
	}
	if p.ExitCode != nil || !p.ExitedAt.IsZero() || p.EndedBy != "" || p.Signal != "" {
		c.errorf("a process that runs has an end: exit code %s, ExitedAt %v, EndedBy %q, Signal %q", code(p), p.ExitedAt, p.EndedBy, p.Signal)
	}
}

func startWaitTime(c *check) {
	const wait = 50 * time.Millisecond
	m := c.chat("a")
	began := time.Now()
	out := c.start(m, procmgr.StartRequest{Command: "exec sleep 600", Wait: wait})
	if took := time.Since(began); took < wait {
		c.errorf("Start with a wait of %v for a command that runs on returned after %v", wait, took)
	}
	c.prompt(began, "Start's wait did not end at its time")
	if out.Process.State != procmgr.Running {
		c.errorf("the command is %q when the wait is over, and had to run on", out.Process.State)
	}
	c.lives(m, out.Process.ID, "after the wait of its Start was over")
}

func startWaitExit(c *check) {
	began := time.Now()
	out := c.start(c.chat("a"), procmgr.StartRequest{Command: "echo done; exit 4", Wait: c.long})
	c.prompt(began, "the command has ended and the wait of Start went on")
	c.exit(out.Process, 4, "", procmgr.CauseExit)
	c.text(out, "done\n")
}

func startOutlives(c *check) {
	m := c.chat("a")
	in := c.dir(m) + "/in"
	ctx, cancel := context.WithCancel(c.ctx)
	out, err := c.tryStartIn(ctx, m, procmgr.StartRequest{Command: puppetCommand(in)})
	cancel()
	if err != nil {
		c.fatalf("Start failed: %v", err)
	}
	id := out.Process.ID
	out = c.read(m, id, procmgr.OutputRequest{Until: "^ready$", Wait: c.long})
	if !out.Matched {
		c.fatalf("the ctx of its Start has ended, and with it the process: state %s, exit code %s", out.Process.State, code(out.Process))
	}
	c.lives(m, id, "after the ctx of its Start had ended")
	p := &puppet{c: c, m: m, id: id, in: in}
	p.tell("echo alive; exit 5")
	out = c.ended(m, id)
	c.text(out, "ready\nalive\n")
	c.exit(out.Process, 5, "", procmgr.CauseExit)
}

func startCanceled(c *check) {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	startBounded(ctx, c, cancel, context.Canceled)
}

func startDeadline(c *check) {
	// If the start itself takes longer than d, the process may not have begun.
	// So another attempt gets more time.
	for d := 200 * time.Millisecond; ; d *= 4 {
		ctx, cancel := context.WithTimeout(c.ctx, d)
		ok := startBounded(ctx, c, func() {}, context.DeadlineExceeded)
		cancel()
		if ok || d >= c.long {
			return
		}
	}
}

// startBounded starts a command without an end and waits for it with ctx. Once
// the command runs, stop ends ctx. It reports whether the command ran by then.
func startBounded(ctx context.Context, c *check, stop func(), want error) bool {
	c.Helper()
	m := c.chat(c.id())
	answers := make(chan answer, 1)
	began := time.Now()
	go func() { // the receive below waits for it
		out, err := c.tryStartIn(ctx, m, procmgr.StartRequest{Command: "exec sleep 600", Wait: c.long})
		answers <- answer{out, err}
	}()
	ran := false
	c.eventually("that List has the process, or that its Start has returned", func() bool {
		ran = len(c.list(m)) > 0
		return ran || len(answers) > 0
	})
	stop()
	a := <-answers
	if !ran && errors.Is(a.err, want) {
		return false // an ID says here only that it may have begun
	}
	c.prompt(began, "the ctx of Start has ended and the wait went on")
	c.is(a.err, want, "Start whose ctx ended during its wait")
	if a.out.Process.ID == "" {
		c.errorf("Start whose ctx ended during its wait returned no ID for the process that it had begun")
		return true
	}
	c.lives(m, a.out.Process.ID, "after the ctx of its Start had ended")
	return true
}

func startEndedContext(c *check) {
	m := c.chat("a")
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	id := c.id()
	out, err := c.tryStartIn(ctx, m, procmgr.StartRequest{ID: id, Command: "exec sleep 600", Wait: c.long})
	c.is(err, context.Canceled, "Start whose ctx had ended before")
	if out.Process.ID == "" {
		_, err = c.tryRead(m, id, procmgr.OutputRequest{})
		c.is(err, procmgr.ErrNotFound, "Output of the ID of a Start that returned none")
	}
}

func startRefuses(c *check) {
	m := c.chat("a")
	for _, tt := range []struct {
		what string
		req  procmgr.StartRequest
	}{
		{"no command", procmgr.StartRequest{}},
		{"a blank command", procmgr.StartRequest{Command: " \t\n"}},
		{"a NUL byte in the command", procmgr.StartRequest{Command: "echo a\x00b"}},
		{"a NUL byte in the directory", procmgr.StartRequest{Command: "true", WorkDir: "/\x00"}},
		{"an empty variable name", procmgr.StartRequest{Command: "true", Env: map[string]string{"": "x"}}},
		{"a = in a variable name", procmgr.StartRequest{Command: "true", Env: map[string]string{"A=B": "x"}}},
		{"a NUL byte in a variable name", procmgr.StartRequest{Command: "true", Env: map[string]string{"A\x00B": "x"}}},
		{"a NUL byte in a variable", procmgr.StartRequest{Command: "true", Env: map[string]string{"A": "a\x00b"}}},
		{"a space in the ID", procmgr.StartRequest{ID: "a b", Command: "true"}},
		{"a path as the ID", procmgr.StartRequest{ID: "../x", Command: "true"}},
		{"a percent sign in the ID", procmgr.StartRequest{ID: "a%62", Command: "true"}},
		{"a newline in the ID", procmgr.StartRequest{ID: "a\n", Command: "true"}},
		{"a letter beyond ASCII in the ID", procmgr.StartRequest{ID: "ä", Command: "true"}},
		{"an ID of 65 characters", procmgr.StartRequest{ID: strings.Repeat("x", 65), Command: "true"}},
	} {
		out, err := c.tryStart(m, tt.req)
		c.is(err, procmgr.ErrInvalid, "Start with %s", tt.what)
		if out.Process.ID != "" {
			c.errorf("Start with %s returned the ID %q, as if it may have run something", tt.what, out.Process.ID)
		}
	}
	if all := c.list(m); len(all) > 0 {
		c.errorf("Start has refused every request, and List has %d processes, the first %q", len(all), all[0].Command)
	}
}

var idForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func startMadeIDs(c *check) {
	m := c.chat("a")
	seen := map[string]bool{}
	for range 20 {
		id := c.start(m, procmgr.StartRequest{Command: "true"}).Process.ID
		if !idForm.MatchString(id) {
			c.errorf("the host made the ID %q", id)
		}
		if seen[id] {
			c.errorf("the host made the ID %q twice", id)
		}
		seen[id] = true
	}
}

func startChosenIDs(c *check) {
	m := c.chat("a")
	for _, id := range []string{"x", "0", "-", "_", "--help", "list", "start", "output", "signal", "LIST", strings.Repeat("aZ-_09xy", 8)} {
		out := c.runAs(m, procmgr.StartRequest{ID: id, Command: "echo $TOOLPROC_PROCESS_ID"})
		if out.Process.ID != id || out.Attached {
			c.errorf("Start with the ID %q returned the process %q, Attached %v", id, out.Process.ID, out.Attached)
		}
		c.text(out, id+"\n")
		c.text(c.look(m, id), id+"\n")
	}
}

func startFields(c *check) {
	m := c.chat("a")
	req := procmgr.StartRequest{ID: c.id(), Command: "echo x; exit 3", Background: true, Wait: c.long}
	first := c.start(m, req).Process
	read := c.look(m, req.ID).Process
	all := c.list(m)
	if len(all) != 1 {
		c.fatalf("List has %d processes of a chat that started one", len(all))
	}
	for _, told := range []struct {
		by string
		p  procmgr.Process
	}{{"Start", first}, {"Output", read}, {"List", all[0]}} {
		p := told.p
		if p.ID != req.ID || p.Command != req.Command || !p.Background || p.ChatID != c.chatName("a") {
			c.errorf("%s returned another process than the one that was started: %+v", told.by, p)
		}
		c.exit(p, 3, "", procmgr.CauseExit)
		if p.PID != first.PID || p.WorkDir != first.WorkDir {
			c.errorf("%s says PID %d in %q, and Start said %d in %q", told.by, p.PID, p.WorkDir, first.PID, first.WorkDir)
		}
		if !p.StartedAt.Equal(first.StartedAt) {
			c.errorf("%s says that it started at %v, and Start said %v", told.by, p.StartedAt, first.StartedAt)
		}
		switch {
		case p.ExitedAt.IsZero():
			c.errorf("%s does not say when the process exited", told.by)
		case p.ExitedAt.Before(p.StartedAt):
			c.errorf("%s says that it exited at %v, before it started at %v", told.by, p.ExitedAt, p.StartedAt)
		case !first.ExitedAt.IsZero() && !p.ExitedAt.Equal(first.ExitedAt):
			c.errorf("%s says that it exited at %v, and Start said %v", told.by, p.ExitedAt, first.ExitedAt)
		}
		if u := p.Usage; u.User < 0 || u.System < 0 || u.MaxRSS < 0 {
			c.errorf("%s says that the process used less than nothing: %+v", told.by, u)
		}
	}
}

func startBackground(c *check) {
	m := c.chat("a")
	for _, background := range []bool{false, true} {
		out := c.runAs(m, procmgr.StartRequest{Command: "echo here; exit 2", Background: background})
		c.exit(out.Process, 2, "", procmgr.CauseExit)
		if out.Process.Background != background {
			c.errorf("Start with Background %v returned a process with Background %v", background, out.Process.Background)
		}
		c.text(out, "here\n")
	}
}
