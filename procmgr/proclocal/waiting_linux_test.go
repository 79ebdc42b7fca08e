package proclocal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/asktest"
)

func TestWaiting(t *testing.T) { asktest.Check(t, newLocal(t, nil), 5) }

func TestHeldWaiting(t *testing.T) {
	testenv.Held(t)
	asktest.Check(t, newLocal(t, nil), 0)
}

// A name that a program has forged stands on one line, without controls, and is taken for
// no other field of /proc/PID/stat: Z is a process that has ended.
func TestNameOfWhatWaits(t *testing.T) {
	l := newLocal(t, nil)
	id := opened(t, l, procmgr.StdinPipe, `printf 'a) Z 1 (\033[2J\rb' >/proc/$$/comm; read -r x; true`)
	waiting := output(t, l, id, procmgr.OutputRequest{UntilWaiting: true, Wait: long}).Process.Waiting
	require.Equal(t, "a) Z 1 ([2Jb", waiting.Program)
}
