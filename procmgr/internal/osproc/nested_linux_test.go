package osproc_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// These are set in the programs that TestSiblings starts: which of them a program
// is, and a number that is in all command lines.
const (
	envNested = "OSPROC_TEST_NESTED"
	envMarker = "OSPROC_TEST_MARKER"
)

// Two managers run within one tree of a third. Their random bits and their counts
// agree, so that their trees have the same mark. What the one has started, and has
// wiped its environment, is not ended by the other, and is named. A manager still
// ends what a second proof shows to be its own.
func TestSiblings(t *testing.T) {
	const agreed = 5 | 7<<40
	marker := "1000." + os.Getenv(envMarker)
	switch os.Getenv(envNested) {
	case "":
		self, err := os.Executable()
		require.NoError(t, err)
		t.Setenv(envMarker, fmt.Sprint(os.Getpid()))
		run := self + " -test.run='^TestSiblings$' -test.count=1 -test.v"
		c := begin(t, open(t, osproc.Config{}), envNested+"=one "+run+" & "+envNested+"=other "+run+"; echo ready; wait")
		require.Contains(t, c.output(), "--- PASS: TestSiblings", c.output())
		require.NotContains(t, c.output(), "FAIL")
		c.kill(t)
	case "one":
		osproc.SetRandomMark(agreed)
		// Its tree lives until the outermost manager ends it.
		c := start(t, open(t, osproc.Config{}), "sh", "-c", "env -i setsid sleep "+marker+"1 >/dev/null 2>&1 & wait")
		c.wait(t)
		require.Fail(t, "its process has ended")
	case "other":
		osproc.SetRandomMark(agreed)
		eventually(t, "the other manager's process runs", func() bool { return len(named("sleep", marker+"1")) == 1 })
		stranger := named("sleep", marker+"1")
		c := begin(t, open(t, osproc.Config{}), "env -i setsid sleep "+marker+"2 >/dev/null 2>&1 & "+ // its parent is a member
			"env -i setsid -f sleep "+marker+"3 & "+ // it has the pipe
			"echo ready; wait")
		eventually(t, "all run", func() bool { return len(named("sleep", marker)) == 3 })
		require.Equal(t, limitOf(t, stranger[0]), limitOf(t, c.PID()), "the marks agree")
		c.kill(t)
		require.Equal(t, stranger, named("sleep", marker), "its own have ended")
		require.Equal(t, stranger, c.Doubtful())
	}
}

// limitOf returns the limit of a process that is its mark.
func limitOf(t *testing.T, pid int) unix.Rlimit {
	const rlimitLocks = 10 // RLIMIT_LOCKS
	var limit unix.Rlimit
	require.NoError(t, unix.Prlimit(pid, rlimitLocks, nil, &limit))
	return limit
}
