package prochttp_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

// A server of an earlier version has no highlights, and gives the output all the
// same.
func TestHighlightsOfAnEarlierVersion(t *testing.T) {
	asked := 0
	h := earlier(newHandler(t, newLocal(t, nil), nil))
	c := newClient(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.RawQuery, "highlight=") {
			asked++
			r.URL.RawQuery = "high=1" // it knows the one as little as the other
		}
		h.ServeHTTP(w, r)
	})), nil)
	id := run(t, c, "printf 'one\\ntwo\\nthree\\n'").Process.ID
	out, err := c.Output(t.Context(), id, procmgr.OutputRequest{From: 4, Limit: headtail.Limits{Bytes: 1 << 10}, Highlight: 100})
	require.NoError(t, err)
	require.Equal(t, "two\nthree\n", out.Text)
	require.Empty(t, out.Highlights)
	require.Equal(t, 1, asked)
}
