package prockeep_test

import (
	"testing"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr/internal/asktest"
)

func TestWaiting(t *testing.T) { asktest.Check(t, open(t, t.TempDir(), nil).Chat("a"), 3) }

func TestHeldWaiting(t *testing.T) {
	testenv.Held(t)
	asktest.Check(t, open(t, t.TempDir(), nil).Chat("a"), testenv.Rounds(10, 0))
}
