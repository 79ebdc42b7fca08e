package prochttp_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// panicking is a Host whose calls panic with an error.
type panicking struct{ procmgr.Host }

func (panicking) List(context.Context, procmgr.ListRequest) (procmgr.ListPage, error) {
	panic(xerrors.Errorf("the list: %w", xerrors.New("torn")))
}

func (p panicking) Output(context.Context, string, procmgr.OutputRequest) (procmgr.Output, error) {
	panic(xerrors.Errorf("the output: %w", xerrors.New("torn")))
}

// A log line has only the words of an error. xerrors could add source paths, and
// the handlers of slog differ in what they write for an error.
func TestLogHasNoSourcePaths(t *testing.T) {
	for name, handler := range map[string]func(io.Writer) slog.Handler{
		"text": func(w io.Writer) slog.Handler {
			return slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})
		},
		"json": func(w io.Writer) slog.Handler {
			return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})
		},
	} {
		t.Run(name, func(t *testing.T) {
			var logged bytes.Buffer
			var mu sync.Mutex
			logger := slog.New(handler(lockedWriter{&mu, &logged}))
			client := &prochttp.ClientOptions{Token: token, Logger: logger, Retry: -1}

			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			require.NoError(t, l.Close()) // nobody listens there any more
			_, err = newClient(t, "http://"+l.Addr().String(), client).List(t.Context(), procmgr.ListRequest{})
			require.Error(t, err)

			nobody := &prochttp.HandlerOptions{Logger: logger, Authorize: func(*http.Request) (prochttp.Scope, error) {
				return prochttp.Scope{}, xerrors.Errorf("the vault said: %w", xerrors.New("sealed"))
			}}
			_, err = newClient(t, serve(t, newHandler(t, newLocal(t, nil), nobody)), client).List(t.Context(), procmgr.ListRequest{})
			require.Error(t, err)

			panics := newClient(t, serve(t, newHandler(t, panicking{newLocal(t, nil)}, &prochttp.HandlerOptions{Token: token, Logger: logger})), client)
			_, err = panics.List(t.Context(), procmgr.ListRequest{})
			require.Error(t, err)
			_, err = panics.Output(t.Context(), "x", procmgr.OutputRequest{Wait: long, Until: "x"})
			require.Error(t, err)

			mu.Lock()
			defer mu.Unlock()
			require.Contains(t, logged.String(), "the server cannot be reached: ")
			require.Contains(t, logged.String(), "the vault said: sealed")
			require.Contains(t, logged.String(), "the list: torn")
			require.Contains(t, logged.String(), "the output: torn")
			require.NotContains(t, logged.String(), ".go:")
		})
	}
}
