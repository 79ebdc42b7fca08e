package proctest_test

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr/proclocal"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// A brokenHost breaks a promise, and some case has to find that.
type brokenHost struct {
	name  string
	fault func(l *proclocal.Local) fault
	fails []string // cases that find it; others may find it too
	// slow is set if a case finds it by a wait that lasts until its time is up.
	// The test then makes that time short.
	slow bool
	// logs says that the host keeps logs.
	logs bool
}

var brokenHosts = slices.Concat(brokenStarts, brokenRefusals, brokenCommands, brokenShells, brokenOutputs, brokenWaits, brokenSearches, brokenPorts, brokenMembers, brokenSignals, brokenChats, brokenEvents, brokenInputs)

// For every case there is a host that breaks its promise, and the failure of
// the case states that promise.
func TestHeldBrokenHosts(t *testing.T) {
	testenv.Held(t)
	promises := proctest.Cases()
	found := map[string]bool{}
	for _, broken := range brokenHosts {
		for _, name := range broken.fails {
			require.Contains(t, promises, name, broken.name)
			found[name] = true
		}
		require.NotEmpty(t, broken.fails, broken.name)
	}
	for name := range promises {
		if !found[name] && !(runtime.GOOS == "windows" && strings.HasPrefix(name, "input/")) { // no process has a stdin there
			t.Errorf("no broken host is found out by the case %q", name)
		}
	}
	// Several hosts at once, whatever -parallel says: most of their time is a
	// wait.
	slots := make(chan struct{}, 6)
	var wg sync.WaitGroup
	defer wg.Wait()
	// CI has a third of them each day.
	stride, today := testenv.Rounds(3, 1), time.Now().YearDay()
	for i, broken := range brokenHosts {
		if (i+today)%stride != 0 {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			t.Run(broken.name, broken.isFound)
		})
	}
}

// isFound runs the cases that must fail.
func (broken brokenHost) isFound(t *testing.T) {
	promises := proctest.Cases()
	for _, name := range broken.fails {
		var failures []string
		// On a busy machine, a host that acts too early keeps its promise by
		// chance.
		for try := 0; len(failures) == 0; try++ {
			require.Less(t, try, 8, "the case %q passes", name)
			failures = broken.run(t, name)
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
func (broken brokenHost) run(t *testing.T, name string) (failures []string) {
	longest, temp := time.Duration(0), t.TempDir()
	if broken.slow {
		longest = 300 * time.Millisecond
	}
	opts := &proclocal.Options{
		StopGrace: -1,
		UpdateEnv: func(env []string) ([]string, error) {
			// A broken host may fail to remove the files of a case.
			env = slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "TMPDIR=") })
			return append(env, "TMPDIR="+temp), nil
		},
	}
	if broken.logs {
		opts.LogDir = filepath.Join(temp, "logs")
	}
	l, err := proclocal.New(opts)
	require.NoError(t, err)
	began := time.Now()
	failures = proctest.RunCase(name, newHost(l, broken.fault(l)), longest)
	took := time.Since(began)
	require.NoError(t, l.Close())
	require.Less(t, took, 25*time.Second, "%s: it was found out by a wait", name)
	return failures
}
