package prochttp_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync"
	"testing"
)

// A fault is what a proxy does to one request.
type fault int

const (
	none        fault = iota
	lostRequest       // it never reaches the server
	lostAnswer        // the server has done its work, and the connection closes
	cutAnswer         // half of the answer arrives, then the connection is reset
	badGateway        // the server has done its work, and the proxy says 502
)

func (f fault) String() string {
	return [...]string{"none", "lost request", "lost answer", "cut answer", "bad gateway"}[f]
}

// A proxy stands between a client and a server, and does what the test sets.
type proxy struct {
	url       string
	transport *http.Transport

	mu      sync.Mutex
	backend string // URL
	plan    func(*http.Request) fault
	before  func(*http.Request) // called before a request is passed on
	after   func(*http.Request) // called when the server has answered
	seen    []string            // method and path of each request
}

// newProxy returns a proxy that only passes requests on.
func newProxy(t testing.TB, backend string) *proxy {
	t.Helper()
	p := &proxy{backend: backend, transport: &http.Transport{DisableKeepAlives: true}}
	server := httptest.NewServer(p)
	p.url = server.URL
	t.Cleanup(server.Close)
	return p
}

// set changes a proxy that is in use.
func (p *proxy) set(f func(*proxy)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p)
}

// count returns how many requests had a path that ends in suffix.
func (p *proxy) count(suffix string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, request := range p.seen {
		if strings.HasSuffix(request, suffix) {
			n++
		}
	}
	return n
}

// once returns a plan for a fault of the first request whose path ends in
// suffix.
func once(suffix string, what fault) func(*http.Request) fault {
	var hit sync.Once
	return func(r *http.Request) fault {
		f := none
		if strings.HasSuffix(r.URL.Path, suffix) {
			hit.Do(func() { f = what })
		}
		return f
	}
}

// every returns a plan for a fault of all requests whose path ends in suffix.
func every(suffix string, what fault) func(*http.Request) fault {
	return func(r *http.Request) fault {
		if strings.HasSuffix(r.URL.Path, suffix) {
			return what
		}
		return none
	}
}

// onStart calls f for each start.
func onStart(f func()) func(*http.Request) {
	return func(r *http.Request) {
		if r.URL.Path == "/start" {
			f()
		}
	}
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	backend, plan, before, after := p.backend, p.plan, p.before, p.after
	p.seen = append(p.seen, r.Method+" "+r.URL.Path)
	p.mu.Unlock()

	what := none
	if plan != nil {
		what = plan(r)
	}
	if what == lostRequest {
		hangUp(w, nil)
		return
	}
	if before != nil {
		before(r)
	}
	if what != none {
		r = r.WithContext(context.WithoutCancel(r.Context())) // the server finishes its work in any case
	}
	failed := false
	through := httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL.Scheme, pr.Out.URL.Host = "http", strings.TrimPrefix(backend, "http://")
		},
		Transport:    p.transport,
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { failed = true },
	}
	answer := httptest.NewRecorder()
	through.ServeHTTP(answer, r)
	if after != nil && !failed {
		after(r)
	}
	switch {
	case failed || what == lostAnswer:
		hangUp(w, nil)
	case what == cutAnswer:
		hangUp(w, fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%s: %s\r\n\r\n%s",
			answer.Body.Len(), "Toolproc-Instance", answer.Header().Get("Toolproc-Instance"), answer.Body.Bytes()[:answer.Body.Len()/2]))
	case what == badGateway:
		http.Error(w, "bad gateway", http.StatusBadGateway)
	default:
		passOn(w, answer)
	}
}

// passOn answers a request with a recorded answer.
func passOn(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()) // a client that has gone needs no answer
}

// hangUp writes a few bytes and resets the connection.
func hangUp(w http.ResponseWriter, bytes []byte) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	_, _ = conn.Write(bytes)
	if tcp, ok := conn.(*net.TCPConn); ok && len(bytes) == 0 {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}
