package proctest_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

func TestLocal(t *testing.T) {
	proctest.TestHost(t, func(t *testing.T) procmgr.Host { return newLocal(t, nil) })
}

// One host may serve all cases, and have other users. This one keeps logs, and is wrapped.
func TestHeldSharedHost(t *testing.T) {
	testenv.Held(t)
	l := newLocal(t, &proclocal.Options{Shell: []string{"nice", "-n", "5", "sh", "-c"}, LogDir: filepath.Join(t.TempDir(), "logs")})
	wrapped := procmgr.WrapHost(l, func(_ string, m procmgr.Manager) procmgr.Manager { return m })
	_, err := l.Start(t.Context(), procmgr.StartRequest{ID: "another-user", Command: "exec sleep 1000"})
	require.NoError(t, err)
	proctest.TestHost(t, func(*testing.T) procmgr.Host { return wrapped })
	page, err := l.List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	for _, p := range page.Processes {
		if p.ID == "another-user" {
			require.Equal(t, procmgr.Running, p.State, "the suite has touched what is not its own")
		} else {
			require.Equal(t, procmgr.Exited, p.State, "a case has left %q running", p.Command)
		}
	}
}

// The message of a failure ends with a promise.
func TestPromises(t *testing.T) {
	for name, promise := range proctest.Cases() {
		require.NotEmpty(t, promise, name)
		require.False(t, strings.HasSuffix(promise, "."), name)
	}
}
