package proctest

import (
	"testing"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

// atOnce is how many cases run at once, whatever -parallel says: a host on a
// small machine has their processes to run.
const atOnce = 4

// long is a wait that is reached only where something is wrong, or where the
// machine is very busy. No case measures how fast a host is.
const long = 30 * time.Second

// A testCase holds one promise of a Host.
type testCase struct {
	name    string
	promise string // a sentence: every failure of the case ends with it
	run     func(*check)
}

// A group is the cases of one theme.
type group struct {
	name  string
	cases []testCase
}

// groups are run in this order: what the later ones build on stands first.
var groups = []group{
	{"start", startCases},
	{"command", commandCases},
	{"directory", directoryCases},
	{"environment", environmentCases},
	{"refusal", refusalCases},
	{"once", onceCases},
	{"output", outputCases},
	{"limit", limitCases},
	{"wait", waitCases},
	{"until", untilCases},
	{"signal", signalCases},
	{"stop", stopCases},
	{"detached", detachedCases},
	{"list", listCases},
	{"chat", chatCases},
	{"isolation", isolationCases},
	{"concurrent", concurrentCases},
}

// TestHost runs the suite, each case as a subtest of its own. newHost is called
// once for each, several at a time, and gets that subtest's T, so that it can
// clean up with T.Cleanup. It may return the same host every time. TestHost
// returns when all cases have ended.
func TestHost(t *testing.T, newHost func(*testing.T) procmgr.Host) {
	t.Helper()
	slots := make(chan struct{}, atOnce)
	for _, g := range groups {
		// The group's Run returns once its parallel cases have ended, so that
		// what the caller defers does not end before them.
		t.Run(g.name, func(t *testing.T) {
			for _, tc := range g.cases {
				t.Run(tc.name, func(t *testing.T) {
					t.Parallel()
					slots <- struct{}{}
					t.Cleanup(func() { <-slots }) // after the host's own
					tc.test(t, newHost(t), long)
				})
			}
		})
	}
}

// test runs a case, and ends what it has started.
func (tc testCase) test(r reporter, host procmgr.Host, long time.Duration) {
	c := newCheck(r, host, tc.promise, long)
	defer c.cleanUp()
	tc.run(c)
}
