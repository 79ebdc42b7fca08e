package proctest

import (
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

// A testCase tests one promise of a Host.
type testCase struct {
	name    string
	promise string // a sentence: every failure of the case ends with it
	run     func(*check)
}

// test runs a case, and ends the processes that it has started.
func (tc testCase) test(r reporter, host procmgr.Host, long time.Duration) {
	c := newCheck(r, host, tc.promise, long)
	defer c.cleanUp()
	tc.run(c)
}
