package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/service"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// A client without the token is not let in. A client that does not trust the certificate
// does not send its token.
func TestKeys(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	for _, dir := range []string{dir, other} {
		args := []string{"-dir", dir, "-hosts", "127.0.0.1"}
		require.NoError(t, keys(args))
		require.ErrorIs(t, keys(args), os.ErrExist, "keys are not overwritten")
	}
	token := func(dir string) string {
		token, err := service.ReadToken(filepath.Join(dir, "token"))
		require.NoError(t, err)
		return token
	}
	host := proctest.NewScript()
	defer func() { require.NoError(t, host.Close()) }()
	handler, err := prochttp.NewHandler(host, &prochttp.HandlerOptions{Token: token(dir)})
	require.NoError(t, err)
	listener, _, err := service.ListenTLS("127.0.0.1:0", filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	require.NoError(t, err)
	server := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.Serve(listener) }() // Close ends it
	defer func() { require.NoError(t, server.Close()) }()
	for _, tt := range []struct{ name, token, cert, want string }{
		{"the keys", dir, dir, ""},
		{"another token", other, dir, "the credentials are missing or wrong"},
		{"another certificate", dir, other, "certificate signed by unknown authority"},
	} {
		cert, err := os.ReadFile(filepath.Join(tt.cert, "cert.pem"))
		require.NoError(t, err)
		roots := x509.NewCertPool()
		require.True(t, roots.AppendCertsFromPEM(cert))
		client, err := prochttp.NewClient("https://"+listener.Addr().String(), &prochttp.ClientOptions{Token: token(tt.token), TLS: &tls.Config{RootCAs: roots}})
		require.NoError(t, err)
		_, err = client.Chat("a").List(t.Context(), procmgr.ListRequest{})
		require.Equal(t, tt.want == "", err == nil, "%s: %v", tt.name, err)
		require.True(t, err == nil || strings.Contains(err.Error(), tt.want), "%v", err)
		require.NoError(t, client.Close())
	}
}
