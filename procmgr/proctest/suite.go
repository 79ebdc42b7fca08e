package proctest

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

const (
	// atOnce is how many cases run at once, whatever -parallel says: a host on a
	// small machine has to run the processes of all of them.
	atOnce = 4
	// long is a wait that ends earlier, unless something is wrong or the machine has
	// no time for it. It is also how much time failing cases may take in all.
	long = 15 * time.Second
	// basicLong takes the place of long in the first group.
	basicLong = 8 * time.Second
)

// A group is the cases of one subject.
type group struct {
	name  string
	cases []testCase
}

// A testCase tests one promise of a Host.
type testCase struct {
	name    string
	promise string                  // a sentence: every failure of the case ends with it
	run     func(c *check, m *view) // m is the view of a new chat
}

// groups run in this order: a group comes after the groups that it builds on. If the
// first one fails, the others are left out: each case would wait for something that
// cannot happen.
var groups = []group{
	{"basic", basicCases},
	{"start", startCases},
	{"command", commandCases},
	{"shell", shellCases},
	{"directory", directoryCases},
	{"environment", environmentCases},
	{"once", onceCases},
	{"age", ageCases},
	{"output", outputCases},
	{"limit", limitCases},
	{"wait", waitCases},
	{"until", untilCases},
	{"search", searchCases},
	{"ports", portsCases},
	{"signal", signalCases},
	{"stop", stopCases},
	{"detached", detachedCases},
	{"lifetime", lifetimeCases},
	{"input", inputCases},
	{"list", listCases},
	{"chat", chatCases},
	{"isolation", isolationCases},
	{"events", eventsCases},
	{"concurrent", concurrentCases},
}

// TestHost runs the suite, each case as a subtest of its own. It calls newHost once for
// each case, and for several at a time. newHost gets the T of that subtest, so that it
// can clean up with T.Cleanup. It may return the same host every time. TestHost returns
// when all cases have ended. If the first group fails, or once failed cases have taken
// 15 s in all, the other cases are skipped, even running ones.
func TestHost(t *testing.T, newHost func(*testing.T) procmgr.Host) {
	t.Helper()
	slots := make(chan struct{}, atOnce)
	// Failing cases mostly wait for what does not happen, and the first ones tell why.
	var failing atomic.Int64 // the time that they have taken
	over, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	for i, g := range groups {
		longest := long
		if i == 0 {
			longest = basicLong
		}
		// The Run of a group returns once its parallel cases have ended. So the
		// caller's deferred functions run after all of them.
		passed := t.Run(g.name, func(t *testing.T) {
			for _, tc := range g.cases {
				t.Run(tc.name, func(t *testing.T) {
					t.Parallel()
					slots <- struct{}{}
					t.Cleanup(func() { <-slots }) // after the cleanup of the host
					if over.Err() != nil {
						t.Skipf("cases have failed before it, and took %v", long)
					}
					host, began := newHost(t), time.Now()
					defer func() {
						if t.Failed() && failing.Add(int64(time.Since(began))) >= int64(long) {
							giveUp()
						}
					}()
					tc.test(over, t, host, longest)
				})
			}
		})
		if !passed && i == 0 {
			t.Log("The other cases need what has failed, and were left out.")
			return
		}
	}
}

// test runs a case, and ends the processes that the case has started.
func (tc testCase) test(over context.Context, r reporter, host procmgr.Host, longest time.Duration) {
	c := &check{reporter: r, promise: tc.promise, long: longest, over: over, mark: procmgr.NewID()}
	c.host = &view{c: c, m: host, to: host}
	var cancel context.CancelFunc
	c.ctx, cancel = context.WithCancel(over)
	defer c.cleanUp()
	defer cancel()
	tc.run(c, c.chat("a"))
}

// A reporter takes the failures of a case. A *testing.T is one.
type reporter interface {
	Errorf(format string, args ...any)
	FailNow()
	SkipNow()
}

// A check is one run of a case against one host. Several goroutines may call
// its methods. But a method that can end the case may be called only from the
// goroutine that the case runs in.
type check struct {
	reporter
	host    *view
	promise string
	long    time.Duration
	over    context.Context // ends when other cases have failed for too long
	mark    string          // part of the name of every chat, so that cases can share a host
	ctx     context.Context // ends with the case

	mu    sync.Mutex // guards the fields below
	undo  []func(ctx context.Context)
	bad   bool // a failure was reported
	owner *view
}

// cleanUp ends the processes that the case has started, and removes its
// directories. If that fails, the case does not. It takes 5 s at most if the case has
// failed.
func (c *check) cleanUp() {
	longest := c.long
	if c.failed() || c.over.Err() != nil {
		longest = min(longest, 5*time.Second)
	}
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	c.mu.Lock()
	undo := c.undo
	c.mu.Unlock()
	done := make(chan struct{})
	go func() { // it stays if the host does not return
		defer close(done)
		for _, f := range slices.Backward(undo) {
			f(ctx)
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// atEnd has f called by cleanUp.
func (c *check) atEnd(f func(ctx context.Context)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.undo = append(c.undo, f)
}

// errorf reports how the promise is broken. The case goes on. Once all cases have to
// end, what goes wrong may come from that, and is no failure of the host.
func (c *check) errorf(format string, args ...any) {
	if c.over.Err() != nil {
		return
	}
	c.mu.Lock()
	c.bad = true
	c.mu.Unlock()
	c.Errorf("%s: "+format+"\npromised: %s", slices.Concat([]any{line()}, args, []any{c.promise})...)
}

// line returns the line of a case that checks something: of the first caller that is no
// method, as all helpers are.
func line() string {
	var callers [20]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	for {
		if frame, more := frames.Next(); !more || !strings.Contains(frame.Function, "/proctest.(*") {
			return fmt.Sprintf("%s:%d", path.Base(frame.File), frame.Line)
		}
	}
}

// fatalf is errorf, and ends the case.
func (c *check) fatalf(format string, args ...any) {
	c.errorf(format, args...)
	if c.over.Err() != nil && !c.failed() {
		c.SkipNow()
	}
	c.FailNow()
}

// errorIf is errorf if a promise is broken. The args are evaluated anyway.
func (c *check) errorIf(broken bool, format string, args ...any) {
	if broken {
		c.errorf(format, args...)
	}
}

// fatalIf is fatalf if a promise is broken.
func (c *check) fatalIf(broken bool, format string, args ...any) {
	if broken {
		c.fatalf(format, args...)
	}
}

// failed reports whether a failure was reported.
func (c *check) failed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bad
}

// endIfFailed ends a case whose next step needs the one before it.
func (c *check) endIfFailed() {
	if c.failed() {
		c.FailNow()
	}
}

// errHung is the error of a call that does not return, and errLasted the error of a
// call whose wait lasted until its time was up. Every case with a wait of c.long makes
// something happen during the wait.
var (
	errHung   = errors.New("the call does not return")
	errLasted = errors.New("the call had to return early, and has returned after its whole wait")
)

// call makes one call of the host, which may wait for c.long. If the call does not
// return, its goroutine stays.
func call[T any](c *check, f func() (T, error)) (value T, err error) {
	began, done := time.Now(), make(chan struct{})
	answer := later(func() (T, error) {
		defer close(done)
		return f()
	})
	hung := time.NewTimer(c.long + min(c.long, 3*time.Second))
	defer hung.Stop()
	select {
	case <-done:
		if value, err = answer(); time.Since(began) >= c.long {
			err = xerrors.Errorf("%v, its answer was %s: %w", c.long, told(err), errLasted)
		}
		return value, err
	case <-hung.C:
		return value, xerrors.Errorf("it may wait for %v at most: %w", c.long, errHung)
	case <-c.over.Done():
		return value, c.over.Err()
	}
}

// later makes a call in another goroutine. The function that it returns waits for the
// answer.
func later[T any](f func() (T, error)) func() (T, error) {
	var value T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		value, err = f()
	}()
	return func() (T, error) {
		<-done
		return value, err
	}
}

// together calls f with 0 to n-1 at the same instant, and returns when all
// calls have returned. These calls may not end the case.
func together(n int, f func(i int)) {
	var ready, done sync.WaitGroup
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			ready.Wait()
			f(i)
		})
	}
	done.Wait()
}

// eventually waits for a condition that no call waits for.
func (c *check) eventually(what string, f func() bool) {
	for began, pause := time.Now(), time.Millisecond; !f(); pause = min(2*pause, 50*time.Millisecond) {
		if time.Since(began) >= c.long || c.over.Err() != nil {
			c.fatalf("after %v it is not true %s", c.long, what)
		}
		time.Sleep(pause)
	}
}
