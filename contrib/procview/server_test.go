package procview_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/procview"
)

// A stream that is open does not hold up the end.
func TestServe(t *testing.T) {
	l := newLocal(t)
	server, err := procview.Serve(t.Context(), l, "127.0.0.1:0")
	require.NoError(t, err)
	base, token, _ := strings.Cut(server.URL, "#token=")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"stream", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode)
	began := time.Now()
	require.NoError(t, server.Close())
	require.Less(t, time.Since(began), 4*time.Second)

	_, err = procview.Serve(t.Context(), l, "256.0.0.1:0")
	require.ErrorContains(t, err, "procview: serve: ")
}
