// Package testenv is for tests that need more than Go and a shell: the rights of
// root, a cgroup, a program. If the machine lacks it, such a test is skipped and
// says why.
//
// A test that is always skipped tests nothing, and goes unnoticed. So CI, which has
// everything, fails if one was skipped.
package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// HeldVariable is the environment variable that has the long tests run.
const HeldVariable = "TOOLPROC_HELD"

// HeldAll is the value of HeldVariable with which long tests run as many rounds
// as somebody waits for who runs them by hand. CI has fewer.
const HeldAll = "all"

// Rounds returns how often a long test repeats what it does: all rounds with
// HeldAll, and few otherwise.
func Rounds(few, all int) int {
	if os.Getenv(HeldVariable) == HeldAll {
		return all
	}
	return few
}

// Held skips a long test unless HeldVariable is set to something. Its name
// begins with TestHeld, since CI runs those in a step of their own, and leaves
// them out of the others by that name.
func Held(t testing.TB) {
	t.Helper()
	if os.Getenv(HeldVariable) == "" {
		t.Skipf("it takes long; to run it, set %s=1", HeldVariable)
	}
}

// Lacks skips a test because the machine lacks something that it needs. The format and
// its arguments say why.
func Lacks(t testing.TB, need, format string, args ...any) {
	t.Helper()
	t.Skipf("it needs %s: %s", need, fmt.Sprintf(format, args...))
}

// Root skips a test that needs the rights of root, unless root runs it.
func Root(t testing.TB) {
	t.Helper()
	if os.Getuid() != 0 {
		Lacks(t, "root", "only root can do this")
	}
}

// Programs skips a test unless all of some programs are on PATH.
func Programs(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			Lacks(t, name, "%v", err)
		}
	}
}
