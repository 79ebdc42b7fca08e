package proctest

import (
	"testing"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

// atOnce is how many cases run at once, whatever -parallel says: a host on a
// small machine has to run the processes of all of them.
const atOnce = 4

// long is the length of a wait that ends earlier, unless something is wrong or
// the machine is very busy. No case measures how fast a host is.
const long = 30 * time.Second

// A group is the cases of one subject.
type group struct {
	name  string
	cases []testCase
}

// groups run in this order: a group comes after the groups that it builds on.
var groups = []group{
	{"start", startCases},
	{"command", commandCases},
	{"shell", shellCases},
	{"directory", directoryCases},
	{"environment", environmentCases},
	{"refusal", refusalCases},
	{"once", onceCases},
	{"output", outputCases},
	{"limit", limitCases},
	{"wait", waitCases},
	{"until", untilCases},
	{"search", searchCases},
	{"ports", portsCases},
	{"members", membersCases},
	{"signal", signalCases},
	{"stop", stopCases},
	{"detached", detachedCases},
	{"input", inputCases},
	{"list", listCases},
	{"chat", chatCases},
	{"isolation", isolationCases},
	{"events", eventsCases},
	{"follow", followCases},
	{"concurrent", concurrentCases},
}

// TestHost runs the suite, each case as a subtest of its own. It calls newHost
// once for each case, and for several at a time. newHost gets the T of that
// subtest, so that it can clean up with T.Cleanup. It may return the same host
// every time. TestHost returns when all cases have ended.
func TestHost(t *testing.T, newHost func(*testing.T) procmgr.Host) {
	t.Helper()
	slots := make(chan struct{}, atOnce)
	for _, g := range groups {
		// The Run of a group returns once its parallel cases have ended. So the
		// caller's deferred functions run after all of them.
		t.Run(g.name, func(t *testing.T) {
			for _, tc := range g.cases {
				t.Run(tc.name, func(t *testing.T) {
					t.Parallel()
					slots <- struct{}{}
					t.Cleanup(func() { <-slots }) // after the cleanup of the host
					tc.test(t, newHost(t), long)
				})
			}
		})
	}
}
