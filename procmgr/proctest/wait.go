package proctest

import (
	"context"
	"math"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

var waitCases = []testCase{
	{"ends at the exit", "a wait ends as soon as the state of the process changes", waitExit},
	{"ends at the time", "a wait returns when its time is up at the latest, and does not end the process", waitTime},
	{"the longest", "a wait may be as long as the longest time.Duration", waitLongest},
	{"after the exit", "a wait for an exited process ends at once", waitAfterExit},
	{"state", "a wait with a State ends at once if the process has another state, and goes on if it has that one", waitState},
	{"many at once", "a change of the state ends all waits for the process", waitMany},
	{"context ends", "ctx bounds the call: if it ends, a wait returns its error, and the process lives on", waitCanceled},
	{"context ended before", "a wait with a ctx that has already ended returns its error at once", waitEndedContext},
}

// An answer is the result of a call in another goroutine.
type answer struct {
	out procmgr.Output
	err error
}

// reading reads in another goroutine, and sends the answer.
func (c *check) reading(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) <-chan answer {
	answers := make(chan answer, 1)
	go func() { // the receiver of the answer waits for it
		out, err := c.tryReadIn(ctx, m, id, req)
		answers <- answer{out, err}
	}()
	return answers
}

// of returns the Output of an answer, which must have no error.
func (c *check) of(answers <-chan answer) procmgr.Output {
	c.Helper()
	a := <-answers
	if a.err != nil {
		c.fatalf("Output with a wait failed: %v", a.err)
	}
	return a.out
}

func waitExit(c *check) {
	m := c.chat("a")
	p := c.puppet(m)
	began := time.Now()
	answers := c.reading(c.ctx, m, p.id, procmgr.OutputRequest{Wait: c.long})
	p.tell("echo last words; exit 7")
	out := c.of(answers)
	c.prompt(began, "the process has exited and the wait went on")
	c.exit(out.Process, 7, "", procmgr.CauseExit)
	c.text(out, "ready\nlast words\n")
	if out.Matched {
		c.errorf("a wait had no Until, and Matched is true")
	}
}

func waitTime(c *check) {
	const wait = 50 * time.Millisecond
	m := c.chat("a")
	id := c.sleeper(m).Process.ID
	for _, until := range []string{"", "no such line"} {
		began := time.Now()
		out := c.read(m, id, procmgr.OutputRequest{Wait: wait, Until: until})
		if took := time.Since(began); took < wait {
			c.errorf("a wait of %v with Until %q, in which nothing happened, returned after %v", wait, until, took)
		}
		c.prompt(began, "a wait did not end at its time")
		if out.Matched {
			c.errorf("the time of a wait with Until %q was up, and Matched is true", until)
		}
		c.text(out, "ready\n")
		c.lives(m, id, "after the time of a wait was up")
	}
}

func waitLongest(c *check) {
	const forEver = time.Duration(math.MaxInt64)
	m := c.chat("a")
	began := time.Now()
	out := c.start(m, procmgr.StartRequest{Command: "exit 3", Wait: forEver})
	c.exit(out.Process, 3, "", procmgr.CauseExit)
	c.prompt(began, "the process has exited and the longest wait went on")
	p := c.puppet(m)
	out = c.read(m, p.id, procmgr.OutputRequest{Until: "ready", Wait: forEver})
	if !out.Matched || out.Process.State != procmgr.Running {
		c.errorf("the longest wait returned with the process %q, Matched %v", out.Process.State, out.Matched)
	}
	ctx, cancel := context.WithTimeout(c.ctx, 50*time.Millisecond)
	_, err := c.tryReadIn(ctx, m, p.id, procmgr.OutputRequest{Wait: forEver})
	cancel()
	c.is(err, context.DeadlineExceeded, "the longest wait, in which nothing happened until the deadline of its ctx,")
	began = time.Now()
	answers := c.reading(c.ctx, m, p.id, procmgr.OutputRequest{Wait: forEver})
	p.tell("exit 4")
	c.exit(c.of(answers).Process, 4, "", procmgr.CauseExit)
	c.prompt(began, "the process has exited and the longest wait went on")
}

func waitAfterExit(c *check) {
	m := c.chat("a")
	id := c.run(m, "echo done").Process.ID
	for _, req := range []procmgr.OutputRequest{{}, {Until: "no such line"}, {From: 5}, {From: 5, Until: "."}, {From: 99, Until: "."}} {
		req.Wait = c.long
		began := time.Now()
		out := c.read(m, id, req)
		c.prompt(began, "a wait for a process that had exited went on")
		if out.Matched {
			c.errorf("nothing matches Until %q from %d on, and Matched is true", req.Until, req.From)
		}
	}
}

func waitState(c *check) {
	m := c.chat("a")
	id := c.sleeper(m).Process.ID
	for _, until := range []string{"", "no such line"} {
		for _, state := range []procmgr.State{procmgr.Detached, procmgr.Exited} {
			began := time.Now()
			out := c.read(m, id, procmgr.OutputRequest{Wait: c.long, State: state, Until: until})
			c.prompt(began, "the caller knew the state "+string(state)+" of a process that runs, and the wait went on")
			if out.Matched || out.Process.State != procmgr.Running {
				c.errorf("the process runs, and a wait with a State returned the state %q, Matched %v", out.Process.State, out.Matched)
			}
		}
		const wait = 50 * time.Millisecond
		began := time.Now()
		c.read(m, id, procmgr.OutputRequest{Wait: wait, State: procmgr.Running, Until: until})
		if took := time.Since(began); took < wait {
			c.errorf("a wait of %v with the State that the process has, in which nothing happened, returned after %v", wait, took)
		}
	}
	id = c.run(m, "sleep 600 & exit 3").Process.ID
	began := time.Now()
	c.isDetached(c.read(m, id, procmgr.OutputRequest{Wait: c.long, State: procmgr.Running}).Process, "3")
	c.prompt(began, "the process was detached between two calls, and the second one went on waiting")
}

func waitMany(c *check) {
	m := c.chat("a")
	p := c.puppet(m)
	began := time.Now()
	var all []<-chan answer
	for i := range 12 {
		from := m
		if i%2 == 1 {
			from = c.host
		}
		all = append(all, c.reading(c.ctx, from, p.id, procmgr.OutputRequest{Wait: c.long}))
	}
	p.tell("exit 2")
	for _, answers := range all {
		c.exit(c.of(answers).Process, 2, "", procmgr.CauseExit)
	}
	c.prompt(began, "the process has exited and some of the waits for it went on")
}

func waitCanceled(c *check) {
	m := c.chat("a")
	p := c.puppet(m)
	for _, until := range []string{"", "no such line"} {
		ctx, cancel := context.WithCancel(c.ctx)
		began := time.Now()
		answers := c.reading(ctx, m, p.id, procmgr.OutputRequest{Wait: c.long, Until: until})
		c.look(m, p.id) // takes about as long as the wait takes to begin
		cancel()
		a := <-answers
		c.is(a.err, context.Canceled, "a wait with Until %q whose ctx ended", until)
		c.prompt(began, "the ctx of a wait has ended and the wait went on")

		ctx, cancel = context.WithTimeout(c.ctx, 30*time.Millisecond)
		began = time.Now()
		_, err := c.tryReadIn(ctx, m, p.id, procmgr.OutputRequest{Wait: c.long, Until: until})
		cancel()
		c.is(err, context.DeadlineExceeded, "a wait with Until %q whose ctx had a deadline", until)
		c.prompt(began, "the deadline of a wait's ctx has passed and the wait went on")
	}
	p.tell("echo alive; exit 3")
	out := c.ended(m, p.id)
	c.text(out, "ready\nalive\n")
	c.exit(out.Process, 3, "", procmgr.CauseExit)
}

func waitEndedContext(c *check) {
	m := c.chat("a")
	id := c.sleeper(m).Process.ID
	ctx, cancel := context.WithCancel(c.ctx)
	cancel()
	began := time.Now()
	_, err := c.tryReadIn(ctx, m, id, procmgr.OutputRequest{Wait: c.long})
	c.is(err, context.Canceled, "a wait whose ctx had ended before")
	c.prompt(began, "a wait whose ctx had ended before went on")
	c.lives(m, id, "after a wait whose ctx had ended")
}
