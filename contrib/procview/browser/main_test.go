package browser_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/procview"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// long is a wait that a test reaches only if something is wrong.
const long = 3 * time.Minute

// chrome is the one browser of all tests. Each test has a page in a profile of its own.
var chrome context.Context

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	path := program()
	if path == "" {
		return m.Run() // the tests say what they lack
	}
	dir, err := os.MkdirTemp("", "browser-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	options := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(dir), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.NoFirstRun, chromedp.Env("HOME=" + dir), // Debian's chromium writes there
		chromedp.Flag("js-flags", "--expose-gc"),
	}
	for _, flag := range []string{"disable-quic", "disable-background-networking", "disable-component-update", "disable-sync", "disable-dev-shm-usage", "hide-scrollbars"} {
		options = append(options, chromedp.Flag(flag, true))
	}
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	var end context.CancelFunc
	chrome, end = chromedp.NewContext(ctx)
	defer end()
	if err := chromedp.Do(chrome); err != nil {
		fmt.Fprintln(os.Stderr, "chromium does not start:", err)
		return 1
	}
	code := m.Run()
	_ = chromedp.Cancel(chrome) // and wait until it has ended, so that its directory can go
	return code
}

// program returns the path of the browser, or "".
func program() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// A site is a View that a server serves. The server can be stopped and started again.
type site struct {
	t       testing.TB
	view    *procview.View
	address string
	server  *http.Server
}

func newSite(t testing.TB, h procmgr.Host, opts *procview.Options) *site {
	t.Helper()
	v, err := procview.New(h, opts)
	require.NoError(t, err)
	s := &site{t: t, view: v, address: "127.0.0.1:0"}
	s.start()
	t.Cleanup(s.stop)
	return s
}

func (s *site) start() {
	s.t.Helper()
	l, err := net.Listen("tcp", s.address)
	require.NoError(s.t, err)
	s.address = l.Addr().String()
	mux := http.NewServeMux()
	mux.Handle("/procs/", http.StripPrefix("/procs", s.view))
	server := &http.Server{Handler: mux}
	s.server = server
	go func() { _ = server.Serve(l) }() // stop ends it
}

func (s *site) stop() { _ = s.server.Close() }

func (s *site) url() string { return s.view.URL("http://" + s.address + "/procs/") }

// A page is a browser's page of a site.
type page struct {
	t   testing.TB
	ctx context.Context
	// errs has the exceptions and the violations of the policy that it reports.
	errs chan string
}

// open opens a page of a site, of a size.
func (s *site) open(width, height int64, steps ...chromedp.Action[chromedp.Void]) *page {
	t := s.t
	t.Helper()
	if chrome == nil {
		t.Skip("there is no such program")
	}
	p := &page{t: t, errs: make(chan string, 100)}
	ctx, cancel := chromedp.NewContext(chrome, chromedp.WithNewBrowserContext(), chromedp.WithListener(func(e any) {
		if e, ok := e.(*runtime.EventExceptionThrown); ok {
			select {
			case p.errs <- fmt.Sprintf("%+v %+v", e.ExceptionDetails, e.ExceptionDetails.Exception):
			default:
			}
		}
	}))
	t.Cleanup(cancel)
	p.ctx = ctx
	p.do(append([]chromedp.Action[chromedp.Void]{chromedp.EmulateViewport(width, height)}, steps...)...)
	p.do(chromedp.Navigate(s.url()))
	return p
}

func (p *page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	require.NoError(p.t, chromedp.Do(p.ctx, steps...))
}

// eval returns the value of an expression.
func eval[T any](p *page, expression string, args ...any) T {
	p.t.Helper()
	if len(args) > 0 {
		expression = fmt.Sprintf(expression, args...)
	}
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(p.t, err, expression)
	return v
}

// until waits until an expression is true.
func (p *page) until(expression string, args ...any) {
	p.t.Helper()
	if len(args) > 0 {
		expression = fmt.Sprintf(expression, args...)
	}
	for deadline := time.Now().Add(long); ; time.Sleep(20 * time.Millisecond) {
		if eval[bool](p, "!!("+expression+")") {
			return
		}
		if time.Now().After(deadline) {
			require.FailNow(p.t, "it does not become true", "%s\nthe page: %s", expression, eval[string](p, "document.body.innerText.slice(0, 2000)"))
		}
	}
}

// key presses keys, one after the other.
func (p *page) key(keys ...string) {
	p.t.Helper()
	for _, k := range keys {
		p.do(chromedp.KeyEvent(k))
	}
}

// clean fails if the page has reported an exception.
func (p *page) clean() {
	p.t.Helper()
	select {
	case err := <-p.errs:
		require.Fail(p.t, "an exception in the page", err)
	default:
	}
}

func newLocal(t testing.TB) *proclocal.Local {
	t.Helper()
	dir := t.TempDir()
	l, err := proclocal.New(&proclocal.Options{WorkDir: dir, LogDir: t.TempDir(), MaxLog: 256 << 20})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}
