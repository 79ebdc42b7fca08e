package proctest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

// A reporter takes the failures of a case. A *testing.T is one.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	FailNow()
}

// A check is one run of a case against one host. Several goroutines may call
// its methods. But a method that can end the case may be called only from the
// goroutine that the case runs in.
//
// A method whose name begins with try returns the error of the host. The method
// of that name without try ends the case on any error.
type check struct {
	reporter
	host    procmgr.Host
	promise string
	long    time.Duration
	mark    string // part of the name of every chat, so that cases can share a host
	ctx     context.Context
	cancel  context.CancelFunc

	ownOnce    sync.Once
	chatsAlone bool // the host starts no process of no chat; set once

	mu    sync.Mutex // guards the fields below
	begun []started
	dirs  []made
	bad   bool // a failure was reported
}

// A started is a process that a case may have started, and has to end.
type started struct {
	m  procmgr.Manager
	id string
}

// A made is a directory, quoted, and the Manager on whose machine it is.
type made struct {
	m   procmgr.Manager
	dir string
}

func newCheck(r reporter, host procmgr.Host, promise string, long time.Duration) *check {
	c := &check{reporter: r, host: host, promise: promise, long: long, mark: procmgr.NewID()}
	c.ctx, c.cancel = context.WithTimeout(context.Background(), 10*long)
	return c
}

// cleanUp ends the processes that the case has started, and removes its
// directories. If that fails, the case does not.
func (c *check) cleanUp() {
	c.cancel()
	c.mu.Lock()
	begun, dirs := c.begun, c.dirs
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), c.long)
	defer cancel()
	for _, s := range begun {
		_ = c.trySignalIn(ctx, s.m, s.id, procmgr.Kill)
	}
	for _, d := range dirs {
		_, _ = c.tryStartIn(ctx, d.m, procmgr.StartRequest{Command: "rm -rf " + d.dir, Wait: c.long})
	}
}

// own returns the Manager that starts processes of no chat, and their chat, "".
// That is the host. A host of many machines has none for them, and refuses with
// ErrInvalid: then another chat takes its place.
func (c *check) own() (m procmgr.Manager, chat string) {
	c.ownOnce.Do(func() {
		_, err := c.tryStart(c.host, procmgr.StartRequest{Command: "exit 0", Wait: c.long})
		c.chatsAlone = errors.Is(err, procmgr.ErrInvalid)
	})
	if c.chatsAlone {
		return c.chat("of the host"), c.chatName("of the host")
	}
	return c.host, ""
}

// errorf reports how the promise is broken. The case goes on.
func (c *check) errorf(format string, args ...any) {
	c.Helper()
	c.mu.Lock()
	c.bad = true
	c.mu.Unlock()
	c.Errorf("%s\npromised: %s", fmt.Sprintf(format, args...), c.promise)
}

// failed reports whether a failure was reported.
func (c *check) failed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bad
}

// fatalf is errorf, and ends the case.
func (c *check) fatalf(format string, args ...any) {
	c.Helper()
	c.errorf(format, args...)
	c.FailNow()
}

// is fails if err is not the error that the call must return.
func (c *check) is(err, want error, format string, args ...any) {
	c.Helper()
	if !errors.Is(err, want) {
		c.errorf("%s had to fail with %s, and the result is %s", fmt.Sprintf(format, args...), name(want), told(err))
	}
}

// told returns the words for an error in a message.
func told(err error) string {
	if err == nil {
		return "success"
	}
	return fmt.Sprintf("%s (%v)", name(err), err)
}

// name returns the name of an error in a message.
func name(err error) string {
	for _, known := range []struct {
		err  error
		name string
	}{
		{procmgr.ErrNotFound, "ErrNotFound"},
		{procmgr.ErrNotRunning, "ErrNotRunning"},
		{procmgr.ErrClosed, "ErrClosed"},
		{procmgr.ErrInvalid, "ErrInvalid"},
		{procmgr.ErrConflict, "ErrConflict"},
		{procmgr.ErrLimit, "ErrLimit"},
		{procmgr.ErrRefused, "ErrRefused"},
		{procmgr.ErrNotReady, "ErrNotReady"},
		{procmgr.ErrUnknown, "ErrUnknown"},
		{context.Canceled, "context.Canceled"},
		{context.DeadlineExceeded, "context.DeadlineExceeded"},
		{errHung, "no answer"},
	} {
		if errors.Is(err, known.err) {
			return known.name
		}
	}
	return "an error that is none of procmgr's"
}

// id returns an ID that no process has.
func (c *check) id() string { return procmgr.NewID() }

// chatName returns the ID of a chat that belongs to this case alone.
func (c *check) chatName(name string) string { return c.mark + " " + name }

// chat returns a chat that belongs to this case alone.
func (c *check) chat(name string) procmgr.Manager { return c.host.Chat(c.chatName(name)) }

// runs fails if a process does not run.
func (c *check) runs(m procmgr.Manager, id, although string) {
	c.Helper()
	if state := c.look(m, id).Process.State; state != procmgr.Running {
		c.errorf("the process %q is %s %s", id, state, although)
	}
}

// lives fails if a process ends within a moment, as it would if something had
// told it to end.
func (c *check) lives(m procmgr.Manager, id, although string) {
	c.Helper()
	out := c.read(m, id, procmgr.OutputRequest{Wait: 50 * time.Millisecond})
	if state := out.Process.State; state != procmgr.Running {
		c.errorf("the process %q is %s %s", id, state, although)
	}
}

// prompt fails if a wait that had to end early lasted until its time was up.
func (c *check) prompt(began time.Time, what string) {
	c.Helper()
	if took := time.Since(began); took >= c.long {
		c.errorf("%s, and took %v", what, took.Round(time.Millisecond))
	}
}

// code returns the words for an exit code in a message.
func code(p procmgr.Process) string {
	if p.ExitCode == nil {
		return "none"
	}
	return fmt.Sprint(*p.ExitCode)
}

// exit fails if a process has not ended in the wanted way. A sandbox may have a program
// in front of the shell, which only passes on the exit code of a shell that a signal has
// ended.
func (c *check) exit(p procmgr.Process, wantCode int, wantSignal string, wantCause procmgr.Cause) {
	c.Helper()
	if p.State != procmgr.Exited {
		c.errorf("%.100q has ended and its state is %q, not %q", p.Command, p.State, procmgr.Exited)
	}
	if p.ExitCode == nil || *p.ExitCode != wantCode {
		c.errorf("%.100q has the exit code %s, not %d", p.Command, code(p), wantCode)
	}
	if p.Signal == "" && wantSignal != "" && c.describe(c.host).Sandbox != nil {
		wantSignal = ""
		if wantCause == procmgr.CauseSignal {
			wantCause = procmgr.CauseExit
		}
	}
	if p.Signal != wantSignal {
		c.errorf("%.100q has the Signal %q, not %q", p.Command, p.Signal, wantSignal)
	}
	if p.EndedBy != wantCause {
		c.errorf("%.100q was EndedBy %q, not %q", p.Command, p.EndedBy, wantCause)
	}
}

// text fails if an output is not the wanted text.
func (c *check) text(out procmgr.Output, want string) {
	c.Helper()
	if out.Text != want {
		c.errorf("%.100q printed %s and the output is %s", out.Process.Command, excerpt(want), excerpt(out.Text))
	}
}

// excerpt quotes a text. It leaves out the middle of a long one.
func excerpt(s string) string {
	const most = 200
	if len(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q…%q (%d bytes)", s[:most/2], s[len(s)-most/2:], len(s))
}

// isOneOf reports whether an error is one of several.
func isOneOf(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}
