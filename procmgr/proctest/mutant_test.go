package proctest_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// A mutant is a Local with a fault that breaks a promise.
type mutant struct {
	name  string
	fault fault
	fails string // the cases that have to find it, separated by "; "; others may find it too
}

// allMutants have the faults that a case finds at once, and the faults that show only
// when a wait lasts until its time is up.
var allMutants = slices.Concat(mutants, slowMutants)

// For every case there is a host that breaks its promise, and the failure of
// the case states that promise.
func TestHeldMutants(t *testing.T) {
	testenv.Held(t)
	promises, found := proctest.Cases(), map[string]bool{}
	for _, m := range allMutants {
		for name := range strings.SplitSeq(m.fails, "; ") {
			require.Contains(t, promises, name, m.name)
			found[name] = true
		}
	}
	for name := range promises {
		noStdin := runtime.GOOS == "windows" && strings.HasPrefix(name, "input/")
		require.True(t, found[name] || noStdin, "no mutant is found out by the case %q", name)
	}
	// Several hosts at once, whatever -parallel says: most of their time is a
	// wait.
	slots := make(chan struct{}, 6)
	var wg sync.WaitGroup
	defer wg.Wait()
	// CI has a third of them each day.
	stride, today := testenv.Rounds(3, 1), time.Now().YearDay()
	for i, m := range allMutants {
		if (i+today)%stride != 0 {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			t.Run(m.name, func(t *testing.T) { m.isFound(t, i >= len(mutants)) })
		})
	}
}

// isFound runs the cases that must fail.
func (m mutant) isFound(t *testing.T, slow bool) {
	promises := proctest.Cases()
	for name := range strings.SplitSeq(m.fails, "; ") {
		if runtime.GOOS == "windows" && strings.HasPrefix(name, "input/") {
			continue
		}
		var failures []string
		// On a busy machine, a host that acts too early keeps its promise by
		// chance.
		for try := 0; len(failures) == 0; try++ {
			require.Less(t, try, 8, "the case %q passes", name)
			failures = m.run(t, name, slow)
		}
		for _, failure := range failures {
			if testing.Verbose() {
				t.Logf("%s:\n%s", name, failure)
			}
			require.True(t, strings.HasSuffix(failure, "\npromised: "+promises[name]), "%s", failure)
		}
	}
}

// run runs one case, and returns its failures.
func (m mutant) run(t *testing.T, name string, slow bool) (failures []string) {
	longest, temp := time.Duration(0), t.TempDir()
	if slow {
		longest = 300 * time.Millisecond
	}
	l, err := proclocal.New(&proclocal.Options{
		StopGrace: -1,
		LogDir:    filepath.Join(temp, "logs"),
		UpdateEnv: func(_ string, env []string) ([]string, error) {
			// A broken host may fail to remove the files of a case.
			env = slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "TMPDIR=") })
			return append(env, "TMPDIR="+temp), nil
		},
	})
	require.NoError(t, err)
	began := time.Now()
	failures = proctest.RunCase(name, newHost(l, m.fault), longest)
	took := time.Since(began)
	require.NoError(t, l.Close())
	require.Less(t, took, 12*time.Second, "%s: it was found out by a wait", name)
	return failures
}

// A Start that hangs is told as such: nothing is said of an answer that never came.
func TestStartThatHangs(t *testing.T) {
	for name := range strings.SplitSeq(hanging.fails, "; ") {
		failures := hanging.run(t, name, true)
		require.Len(t, failures, 1)
		require.Contains(t, failures[0], "the call does not return")
	}
}

// faultVariable makes TestFaultyHost run the suite on the mutant of that name.
const faultVariable = "TOOLPROC_PROCTEST_FAULT"

// TestFaultyHost is the test of an implementation that is broken. It runs in a program
// of its own, because it fails.
func TestFaultyHost(t *testing.T) {
	at := slices.IndexFunc(allMutants, func(m mutant) bool { return m.name == os.Getenv(faultVariable) })
	if at < 0 {
		return
	}
	proctest.TestHost(t, func(t *testing.T) procmgr.Host { return newHost(newLocal(t, nil), allMutants[at].fault) })
}

// A host with a fault is found out soon, by cases that are about it. If it hardly works,
// there is one failure.
func TestHeldBrokenHostFailsSoon(t *testing.T) {
	testenv.Held(t)
	exe, err := os.Executable()
	require.NoError(t, err)
	stride, today := testenv.Rounds(7, 1), time.Now().YearDay()
	for i, m := range slowMutants {
		if (i+today)%stride != 0 && !strings.HasPrefix(m.fails, "basic/") {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), exe, "-test.run", "^TestFaultyHost$")
			cmd.Env = append(os.Environ(), faultVariable+"="+m.name)
			began := time.Now()
			text, err := cmd.CombinedOutput()
			took, out := time.Since(began), string(text)
			require.Error(t, err, out)
			require.Less(t, took, time.Minute, "on a machine that is not busy, it takes less than 30 s: %s", out)
			require.NotContains(t, out, "left behind by the tests")
			failed := regexp.MustCompile(`--- FAIL: TestFaultyHost/(\w+)/(\S+) `).FindAllStringSubmatch(out, -1)
			t.Logf("%.1f s: %v", took.Seconds(), failed)
			if strings.HasPrefix(m.fails, "basic/") {
				require.Equal(t, 1, strings.Count(out, "promised: "), out)
				require.Len(t, failed, 1, out)
			}
		})
	}
}

// A fault replaces methods of a sound host by broken ones. A nil field leaves
// the sound method. The Host is the one that all chats belong to.
type fault struct {
	start    func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error)
	output   func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error)
	list     func(ctx context.Context, m procmgr.Manager, req procmgr.ListRequest) (procmgr.ListPage, error)
	signal   func(ctx context.Context, m procmgr.Manager, id string, sig procmgr.Signal) error
	events   func(ctx context.Context, m procmgr.Manager, req procmgr.EventsRequest) (procmgr.EventPage, error)
	input    func(ctx context.Context, m procmgr.Manager, id string, req procmgr.InputRequest) (procmgr.InputOutput, error)
	describe func(d *procmgr.Description)
	chat     func(id string) string
	of       func(h procmgr.Host, memory *sync.Map) fault // of a host, with a memory of its own
}

// A manager is a sound Manager with a fault.
type manager struct {
	procmgr.Manager
	fault fault
}

func (m manager) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	if m.fault.start == nil {
		return m.Manager.Start(ctx, req)
	}
	return m.fault.start(ctx, m.Manager, req)
}

func (m manager) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	if m.fault.output == nil {
		return m.Manager.Output(ctx, id, req)
	}
	return m.fault.output(ctx, m.Manager, id, req)
}

func (m manager) List(ctx context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	if m.fault.list == nil {
		return m.Manager.List(ctx, req)
	}
	return m.fault.list(ctx, m.Manager, req)
}

func (m manager) Signal(ctx context.Context, id string, sig procmgr.Signal) error {
	if m.fault.signal == nil {
		return m.Manager.Signal(ctx, id, sig)
	}
	return m.fault.signal(ctx, m.Manager, id, sig)
}

func (m manager) Events(ctx context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	if m.fault.events == nil {
		return m.Manager.Events(ctx, req)
	}
	return m.fault.events(ctx, m.Manager, req)
}

func (m manager) Input(ctx context.Context, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
	if m.fault.input == nil {
		return m.Manager.Input(ctx, id, req)
	}
	return m.fault.input(ctx, m.Manager, id, req)
}

func (m manager) Describe(ctx context.Context) (procmgr.Description, error) {
	d, err := m.Manager.Describe(ctx)
	if m.fault.describe != nil {
		m.fault.describe(&d)
	}
	return d, err
}

// A host is a sound Host with a fault, which its chats have too.
type host struct {
	manager
	sound procmgr.Host
}

func newHost(sound procmgr.Host, f fault) host {
	if f.of != nil {
		f = f.of(sound, new(sync.Map))
	}
	return host{manager{sound, f}, sound}
}

func (h host) Chat(id string) procmgr.Manager {
	if h.fault.chat != nil {
		id = h.fault.chat(id)
	}
	return manager{h.sound.Chat(id), h.fault}
}

// process is the fault of returning false fields of processes.
func process(f func(p *procmgr.Process)) fault {
	fault := output(func(out *procmgr.Output, _ procmgr.OutputRequest) { f(&out.Process) })
	fault.list = page(func(page *procmgr.ListPage) {
		for i := range page.Processes {
			f(&page.Processes[i])
		}
	}).list
	return fault
}

// output is the fault of Start and Output returning a false answer about a process.
func output(f func(out *procmgr.Output, req procmgr.OutputRequest)) fault {
	return fault{
		start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
			out, err := m.Start(ctx, req)
			if out.Process.ID != "" {
				f(&out, procmgr.OutputRequest{Limit: req.Limit})
			}
			return out, err
		},
		output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
			out, err := m.Output(ctx, id, req)
			if out.Process.ID != "" {
				f(&out, req)
			}
			return out, err
		},
	}
}

// search is the fault of telling something else of a search.
func search(f func(out *procmgr.Output, req procmgr.OutputRequest)) fault {
	return output(func(out *procmgr.Output, req procmgr.OutputRequest) {
		if req.Until != "" {
			f(out, req)
		}
	})
}

// matches is the fault of taking other output for a match of Until.
func matches(f func(out *procmgr.Output, req procmgr.OutputRequest) bool) fault {
	return search(func(out *procmgr.Output, req procmgr.OutputRequest) { out.Matched = f(out, req) })
}

// started is the fault of returning something else of a Start that was made.
func started(f func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest, out *procmgr.Output, err *error)) fault {
	return fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
		out, err := m.Start(ctx, req)
		f(ctx, m, req, &out, &err)
		return out, err
	}}
}

// starting is the fault of starting another request than the caller's, and
// reporting it as if it were the caller's.
func starting(f func(req *procmgr.StartRequest)) fault {
	return fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
		command := req.Command
		f(&req)
		out, err := m.Start(ctx, req)
		if out.Process.ID != "" {
			out.Process.Command = command
		}
		return out, err
	}}
}

// before is the fault of running a script before every command.
func before(script string) fault {
	return starting(func(req *procmgr.StartRequest) { req.Command = script + req.Command })
}

// reading is the fault of reading with another request than the caller's.
func reading(f func(req *procmgr.OutputRequest)) fault {
	return fault{output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
		f(&req)
		return m.Output(ctx, id, req)
	}}
}

// wrong is the fault of returning one error for another; nil is success.
func wrong(expected, err error) fault {
	f := func(is error) error {
		if is != nil && (expected == nil || strings.HasSuffix(is.Error(), expected.Error())) {
			return err
		}
		return is
	}
	return fault{
		start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
			out, err := m.Start(ctx, req)
			return out, f(err)
		},
		output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
			out, err := m.Output(ctx, id, req)
			return out, f(err)
		},
		list: func(ctx context.Context, m procmgr.Manager, req procmgr.ListRequest) (procmgr.ListPage, error) {
			page, err := m.List(ctx, req)
			return page, f(err)
		},
		signal: func(ctx context.Context, m procmgr.Manager, id string, sig procmgr.Signal) error {
			return f(m.Signal(ctx, id, sig))
		},
		input: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
			out, err := m.Input(ctx, id, req)
			return out, f(err)
		},
	}
}

// page is the fault of returning another page of a list.
func page(f func(page *procmgr.ListPage)) fault {
	return fault{list: func(ctx context.Context, m procmgr.Manager, req procmgr.ListRequest) (procmgr.ListPage, error) {
		page, err := m.List(ctx, req)
		f(&page)
		return page, err
	}}
}

// listing is the fault of listing what another request asks for.
func listing(f func(req *procmgr.ListRequest)) fault {
	return fault{list: func(ctx context.Context, m procmgr.Manager, req procmgr.ListRequest) (procmgr.ListPage, error) {
		f(&req)
		return m.List(ctx, req)
	}}
}

// asking is the fault of asking for other events than the caller.
func asking(f func(req *procmgr.EventsRequest)) fault {
	return fault{events: func(ctx context.Context, m procmgr.Manager, req procmgr.EventsRequest) (procmgr.EventPage, error) {
		f(&req)
		return m.Events(ctx, req)
	}}
}

// events is the fault of returning events other than the real ones.
func events(f func(page *procmgr.EventPage)) fault {
	return fault{events: func(ctx context.Context, m procmgr.Manager, req procmgr.EventsRequest) (procmgr.EventPage, error) {
		page, err := m.Events(ctx, req)
		f(&page)
		return page, err
	}}
}

// typing is the fault of writing another request than the caller's.
func typing(f func(req *procmgr.InputRequest)) fault {
	return fault{input: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
		f(&req)
		return m.Input(ctx, id, req)
	}}
}

// and puts two faults together. The methods of the second win.
func (f fault) and(g fault) fault {
	if g.start == nil {
		g.start = f.start
	}
	if g.output == nil {
		g.output = f.output
	}
	if g.list == nil {
		g.list = f.list
	}
	if g.signal == nil {
		g.signal = f.signal
	}
	return g
}
