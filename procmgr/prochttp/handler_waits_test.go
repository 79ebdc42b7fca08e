package prochttp_test

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// The handler refuses too many waits. A wait that ends gives its place back.
func TestTooManyWaiters(t *testing.T) {
	t.Parallel()
	local := newLocal(t, nil)
	id := begin(t, local.Chat("a"), "echo ready; exec sleep 1000").Process.ID
	h := newHandler(t, local, &prochttp.HandlerOptions{Token: token, MaxWaiters: 2})
	var wg sync.WaitGroup
	for _, wait := range []string{`}`, `,"wait_id":"w","until":"never"}`} {
		wg.Go(func() { ask(t, h, request("/output", `{"id":"`+id+`","wait":"1m"`+wait)) })
	}
	require.Eventually(t, func() bool { return prochttp.Waiters(h) == 2 }, long, time.Millisecond)
	for _, r := range []*http.Request{
		request("/output", `{"id":"`+id+`","wait":"1m"}`),
		request("/output", `{"id":"`+id+`","wait":"1m","wait_id":"v"}`),
		request("/start", `{"command":"true","wait":"1m"}`),
	} {
		status, code := ask(t, h, r)
		require.Equal(t, http.StatusTooManyRequests, status)
		require.Equal(t, "busy", code)
	}
	status, _ := ask(t, h, request("/output", `{"id":"`+id+`"}`))
	require.Equal(t, http.StatusOK, status, "reading takes no place")
	require.NoError(t, local.Chat("a").Signal(t.Context(), id, procmgr.Kill))
	wg.Wait()
	require.Eventually(t, func() bool { return prochttp.Waiters(h) == 0 }, long, time.Millisecond)
	require.Len(t, list(t, local), 1, "nothing was started")
}
