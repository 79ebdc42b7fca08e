package main

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// serveHTTP serves sessions on /mcp until ctx ends. An address without a host
// means this machine alone: to let other machines connect, name a host.
func serveHTTP(ctx context.Context, s *server, local *proclocal.Local, address, token string, idle time.Duration) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if host == "" {
		host = "127.0.0.1"
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return err
	}
	httpServer := &http.Server{
		Handler:           newHandler(s, host, token, idle),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute, // of connections; no WriteTimeout, because answers are streams
	}
	failed := make(chan error, 1)
	go func() { failed <- httpServer.Serve(listener) }() // Close ends it
	fmt.Fprintf(os.Stderr, "mcp: listening on http://%s/mcp\n", listener.Addr())

	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	// First the processes: each wait ends with its process, and is answered.
	// The streams that are left then wait for nothing.
	_ = local.Close() // the caller's Close returns the same error
	grace, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	_ = httpServer.Shutdown(grace)
	return httpServer.Close()
}

// newHandler serves /mcp to clients that have the token. It allows no other
// origin, so a browser could not even read an answer.
func newHandler(s *server, host, token string, idle time.Duration) http.Handler {
	streamable := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp },
		&mcp.StreamableHTTPOptions{
			Logger:         s.log,
			SessionTimeout: idle,
			// A client that loses its connection can ask for the answer again.
			EventStore: mcp.NewMemoryEventStore(nil),
		})
	endable := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id := r.Header.Get("Mcp-Session-Id"); r.Method == http.MethodDelete && id != "" {
			s.endSession(id)
		}
		streamable.ServeHTTP(w, r)
	})
	authorized := auth.RequireBearerToken(func(_ context.Context, given string, _ *http.Request) (*auth.TokenInfo, error) {
		if subtle.ConstantTimeCompare([]byte(given), []byte(token)) != 1 {
			return nil, auth.ErrInvalidToken
		}
		return &auth.TokenInfo{}, nil
	}, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true}) // the token lives as long as the program

	mux := http.NewServeMux()
	mux.Handle("/mcp", authorized(endable))
	return refuseBrowsers(host, mux)
}

// refuseBrowsers refuses requests that a web page may have sent. Such a request
// has an origin. Or it is for another host than this one, if the page lets its
// own name point to this machine (DNS rebinding). The token keeps such a page
// out as well, but the page should not even learn which server this is.
func refuseBrowsers(own string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := (&url.URL{Host: r.Host}).Hostname()
		local := host == "localhost" || net.ParseIP(host).IsLoopback()
		switch {
		case r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "":
			http.Error(w, "this server is not for web pages", http.StatusForbidden)
		case !local && host != own:
			http.Error(w, "this server is not known under that name", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// tokenFrom reads the token from a file that other users cannot read, or makes a token
// and prints it. The token is never an argument or a variable, because commands could
// read those.
func tokenFrom(name string) (string, error) {
	if name == "" {
		token := rand.Text() // 128 random bits or more
		fmt.Fprintln(os.Stderr, "mcp: Authorization: Bearer", token)
		return token, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return "", xerrors.Errorf("others can read or write the token in %s: make a new one, with mode 0600", name)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(content))
	if len(token) < 16 {
		return "", xerrors.Errorf("the token in %s is too short to be safe", name)
	}
	return token, nil
}
