package testenv_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
)

// A caller is a test that asks for something. It records its own result.
type caller struct {
	testing.TB
	ended, says string
}

func (c *caller) Helper()                   {}
func (c *caller) Skipf(f string, a ...any)  { c.end("skipped", fmt.Sprintf(f, a...)) }
func (c *caller) Fatalf(f string, a ...any) { c.end("failed", fmt.Sprintf(f, a...)) }

func (c *caller) end(how, says string) {
	c.ended, c.says = how, says
	panic(c) // as a test's goroutine ends
}

// ask returns the result of a test that asks for something.
func ask(question func(testing.TB)) (c *caller) {
	c = &caller{}
	defer func() {
		if r := recover(); r != nil && r != c {
			panic(r)
		}
	}()
	question(c)
	return c
}

func TestLacks(t *testing.T) {
	lacks := func(t testing.TB) { testenv.Lacks(t, "cgroup", "there are only %d", 3) }
	for _, tt := range []struct{ name, needs, ended, says string }{
		{"nothing is said", "", "skipped", "it needs cgroup: there are only 3"},
		{"others are named", "root group cgroups", "skipped", "it needs cgroup: there are only 3"},
		{"it is named", "root cgroup", "failed", "it needs cgroup, which TOOLPROC_NEEDS says is here: there are only 3"},
		{"all", "all", "failed", "it needs cgroup, which TOOLPROC_NEEDS says is here: there are only 3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv(testenv.Variable, tt.needs)
			c := ask(lacks)
			require.Equal(t, tt.ended, c.ended)
			require.Equal(t, tt.says, c.says)
		})
	}
}

func TestPrograms(t *testing.T) {
	t.Setenv(testenv.Variable, "")
	require.Empty(t, ask(func(t testing.TB) { testenv.Programs(t, "sh") }).ended)
	c := ask(func(t testing.TB) { testenv.Programs(t, "sh", "no-such-program") })
	require.Equal(t, "skipped", c.ended)
	require.Contains(t, c.says, "it needs no-such-program: ")
	t.Setenv(testenv.Variable, "no-such-program")
	require.Equal(t, "failed", ask(func(t testing.TB) { testenv.Programs(t, "no-such-program") }).ended)
}

func TestRoot(t *testing.T) {
	t.Setenv(testenv.Variable, "")
	want := "skipped"
	if os.Getuid() == 0 {
		want = ""
	}
	require.Equal(t, want, ask(testenv.Root).ended)
}

func TestHeldVariable(t *testing.T) {
	t.Setenv(testenv.HeldVariable, "")
	c := ask(testenv.Held)
	require.Equal(t, "skipped", c.ended)
	require.Equal(t, "it takes long; to run it, set TOOLPROC_HELD=1", c.says)
	t.Setenv(testenv.HeldVariable, "1")
	require.Empty(t, ask(testenv.Held).ended)
}
