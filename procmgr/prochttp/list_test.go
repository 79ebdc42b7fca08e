package prochttp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A client asks the handler for the page that its caller wants, and no more.
func TestListOfAPage(t *testing.T) {
	l, err := proclocal.New(nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	for range 3 {
		_, err := l.Start(t.Context(), procmgr.StartRequest{Command: "true", Wait: long})
		require.NoError(t, err)
	}
	h, err := prochttp.NewHandler(l, &prochttp.HandlerOptions{Token: "t"})
	require.NoError(t, err)
	var queries []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/list" {
			queries = append(queries, r.URL.RawQuery)
		}
		h.ServeHTTP(w, r)
	}))
	defer server.Close()
	c, err := prochttp.NewClient(server.URL, &prochttp.ClientOptions{Token: "t"})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	for _, test := range []struct {
		req    procmgr.ListRequest
		length int
	}{
		{procmgr.ListRequest{State: procmgr.Exited, Offset: 1, Limit: 1}, 1},
		{procmgr.ListRequest{Limit: -1}, 3},
		{procmgr.ListRequest{}, 3},
	} {
		page, err := c.List(t.Context(), test.req)
		require.NoError(t, err)
		want, err := l.List(t.Context(), test.req)
		require.NoError(t, err)
		require.Equal(t, 3, page.Total)
		require.Len(t, page.Processes, test.length)
		for i := range want.Processes {
			require.Equal(t, want.Processes[i].ID, page.Processes[i].ID)
		}
	}
	require.Equal(t, []string{"limit=1&offset=1&state=exited", "", ""}, queries)
}

func TestListQuery(t *testing.T) {
	l, err := proclocal.New(nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	h, err := prochttp.NewHandler(l, &prochttp.HandlerOptions{Insecure: true})
	require.NoError(t, err)
	server := httptest.NewServer(h)
	defer server.Close()
	for query, want := range map[string]struct {
		status int
		body   string
	}{
		"":                       {http.StatusOK, `{"processes":[],"total":0,"live":0}`},
		"?limit=5":               {http.StatusOK, `{"processes":[],"total":0,"live":0}`},
		"?state=running&limit=0": {http.StatusOK, `{"processes":[],"total":0,"live":0}`},
		"?limit=many":            {http.StatusBadRequest, ""},
		"?state=asleep":          {http.StatusBadRequest, ""},
		"?most=5":                {http.StatusBadRequest, ""},
		"?chat_id=c1":            {http.StatusBadRequest, ""},
		"?limit=1&limit=2":       {http.StatusBadRequest, ""},
	} {
		answer, err := http.Get(server.URL + "/list" + query)
		require.NoError(t, err)
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, want.status, answer.StatusCode, query)
		if want.body != "" {
			require.JSONEq(t, want.body, string(body), query)
		}
	}
	for _, path := range []string{"/describe", "/health"} { // whose query means nothing
		answer, err := http.Get(server.URL + path + "?chat_id=c1")
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, http.StatusOK, answer.StatusCode, path)
	}
}
