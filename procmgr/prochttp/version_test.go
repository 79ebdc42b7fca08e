package prochttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// speaking changes the version that the client of a handler says it speaks, or the
// one that the handler says; "" leaves it as it is, and "-" takes it away.
func speaking(h http.Handler, client, server string) http.Handler {
	set := func(header http.Header, version string) {
		switch version {
		case "":
		case "-":
			header.Del("Toolproc-Protocol")
		default:
			header.Set("Toolproc-Protocol", version)
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		set(r.Header, client)
		answer := httptest.NewRecorder()
		h.ServeHTTP(answer, r)
		set(answer.Header(), server)
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes()) // a client that has gone needs no answer
	})
}

// A client and a server of two versions refuse each other: the error names both
// versions, and nothing is started.
func TestOtherVersion(t *testing.T) {
	for _, test := range []struct {
		name           string
		client, server string
		want           string // "" is no error
	}{
		{"the same", "", "", ""},
		{"a client that does not say it", "-", "", ""},
		{"a server that does not say it", "", "-", ""},
		{"another client", "2", "", `the client speaks version "2" of the protocol, and this server version "1": run the same version`},
		{"another server", "1", "2", `the server speaks version "2" of the protocol, and this client version "1": run the same version`},
		{"both are another one", "2", "2", `the server speaks version "2" of the protocol, and this client version "1": run the same version`},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLocal(t, nil)
			h := newHandler(t, l, nil)
			c := newClient(t, serve(t, speaking(h, test.client, test.server)), nil)
			_, err := c.Start(t.Context(), procmgr.StartRequest{Command: "true", Wait: long})
			_, listed := c.List(t.Context(), procmgr.ListRequest{})
			if test.want == "" {
				require.NoError(t, err)
				require.NoError(t, listed)
				return
			}
			require.ErrorContains(t, listed, test.want)
			require.ErrorContains(t, err, test.want)
			require.ErrorIs(t, err, procmgr.ErrInvalid)
			require.NotErrorIs(t, err, procmgr.ErrUnknown)
			require.Empty(t, list(t, l))
		})
	}
}

// What a server of another version has done although it was not refused is not
// known: its answer may mean something else.
func TestOtherVersionIsUnknown(t *testing.T) {
	h := newHandler(t, newLocal(t, nil), nil)
	foreign := speaking(h, "", "2")
	c := newClient(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/health") {
			h.ServeHTTP(w, r)
		} else {
			foreign.ServeHTTP(w, r)
		}
	})), &prochttp.ClientOptions{Token: token})
	out, err := c.Start(context.WithoutCancel(t.Context()), procmgr.StartRequest{ID: "a", Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrUnknown)
	require.ErrorContains(t, err, `the server speaks version "2"`)
	require.Equal(t, "a", out.Process.ID)
}
