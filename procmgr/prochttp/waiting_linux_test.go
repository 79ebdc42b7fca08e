package prochttp_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr/internal/asktest"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

func TestWaiting(t *testing.T) { checkWaiting(t, 3) }

func TestHeldWaiting(t *testing.T) {
	testenv.Held(t)
	checkWaiting(t, testenv.Rounds(10, 0))
}

// checkWaiting runs the programs of package asktest behind a handler.
func checkWaiting(t *testing.T, n int) {
	l, err := proclocal.New(nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	asktest.Check(t, newClient(t, serve(t, newHandler(t, l, nil)), &prochttp.ClientOptions{Token: token}), n)
}
