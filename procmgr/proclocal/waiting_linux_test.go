package proclocal_test

import (
	"testing"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr/internal/asktest"
)

func TestWaiting(t *testing.T) { asktest.Check(t, newLocal(t, nil), 5) }

func TestHeldWaiting(t *testing.T) {
	testenv.Held(t)
	asktest.Check(t, newLocal(t, nil), 0)
}
