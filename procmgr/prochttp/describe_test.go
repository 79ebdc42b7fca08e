package prochttp_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A server that was restarted may have another shell.
func TestDescribeAfterARestart(t *testing.T) {
	var now atomic.Pointer[http.Handler]
	begin := func(shell string) {
		h := newHandler(t, newLocal(t, &proclocal.Options{Shell: []string{shell, "-c"}}), nil)
		now.Store(&h)
	}
	begin("bash")
	c := newClient(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*now.Load()).ServeHTTP(w, r) })), nil)
	machine, err := c.Describe(t.Context())
	require.NoError(t, err)
	require.Equal(t, "bash", machine.Shell)
	begin("zsh")
	_, err = c.List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	machine, err = c.Describe(t.Context())
	require.NoError(t, err)
	require.Equal(t, "zsh", machine.Shell)
}
