package service_test

import (
	"context"
	"flag"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/service"
	"github.com/toolproc/toolproc/procmgr"
)

// nobody is a Host without a process.
type nobody struct{ procmgr.Unsupported }

func (nobody) Chat(string) procmgr.Manager { return nobody{} }

func (nobody) List(context.Context, procmgr.ListRequest) (procmgr.ListPage, error) {
	return procmgr.ListPage{}, nil
}

func TestView(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, ""},
		{[]string{"-view"}, "127.0.0.1:0"},
		{[]string{"-view=false"}, ""},
		{[]string{"-view=localhost:0"}, "localhost:0"},
	} {
		if _, err := net.DefaultResolver.LookupHost(t.Context(), "localhost"); strings.Contains(tt.want, "localhost") && err != nil {
			require.Equal(t, "windows", runtime.GOOS, "%v", err)
			continue // Wine does not know the name
		}
		var view service.ViewFlag
		flags := flag.NewFlagSet("x", flag.ContinueOnError)
		flags.Var(&view, "view", "")
		require.NoError(t, flags.Parse(tt.args))
		require.Equal(t, tt.want, view.String())
		page, url, stop, err := view.Open(t.Context(), nobody{})
		require.NoError(t, err)
		require.Equal(t, tt.want != "", page != nil)
		if page != nil {
			// A stream that is open does not hold up the end.
			base, token, _ := strings.Cut(url, "#token=")
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"stream", nil)
			require.NoError(t, err)
			req.Header.Set("Authorization", "Bearer "+token)
			res, err := http.DefaultClient.Do(req)
			require.NoError(t, err)
			defer res.Body.Close()
			require.Equal(t, http.StatusOK, res.StatusCode)
		}
		began := time.Now()
		require.NoError(t, stop())
		require.Less(t, time.Since(began), 4*time.Second)
	}
	taken := service.ViewFlag("256.0.0.1:0")
	_, _, _, err := taken.Open(t.Context(), nobody{})
	require.Error(t, err)
}
