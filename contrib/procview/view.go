package procview

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// Options configures [New]. Set Token or Loopback: anyone who opens the page can read
// the output of every process, and end them.
type Options struct {
	// Token is the bearer token that each request needs. If it is "", Loopback must
	// be set; the View then makes a random one. [View.URL] has it.
	Token string
	// Loopback refuses each request that does not come from this machine, to
	// localhost or an address of its loopback. A proxy on this machine makes all
	// requests look like that.
	Loopback bool
	// Hosts are the names, without port, that a request's Host may have besides
	// "localhost" and IP addresses. Any other Host is refused, because a web page can
	// let its own name point to this machine.
	Hosts []string
	// ReadOnly takes the button away that stops a process, and refuses such a
	// request.
	ReadOnly bool
	// CountTokens counts the tokens of a result as the model does. If it is nil, the
	// page says that four bytes are about one. It must be safe for concurrent use.
	CountTokens func(text string) int
	// Context must end when the server is about to end. Streams then end, so that
	// [http.Server.Shutdown] need not wait for them. nil is a context that never ends.
	Context context.Context
}

// A View is the page, and a [http.Handler]. It is safe for concurrent use.
type View struct {
	manager procmgr.Manager
	opts    Options
	secret  string
	token   bearer
	assets  map[string]asset
	mux     *http.ServeMux
	watch   watch
	told    modelView
	// searching lets one search for highlights run at a time.
	searching sync.Mutex
	found     map[key]highlights // guarded by searching
}

var _ http.Handler = (*View)(nil)

// New returns the page of a manager: of all chats for a [procmgr.Host], and of one chat
// for the Manager of that chat. Give the page of a chat no results of other chats. opts is
// copied. If it says neither by which token nor from where the page may be opened, or if
// no header can carry the Token, the error is [procmgr.ErrInvalid].
func New(manager procmgr.Manager, opts *Options) (*View, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	v := &View{manager: manager, opts: o, secret: o.Token, found: make(map[key]highlights)}
	switch {
	case manager == nil:
		return nil, xerrors.Errorf("procview: new: there is no manager: %w", procmgr.ErrInvalid)
	case o.Token == "" && !o.Loopback:
		return nil, xerrors.Errorf("procview: new: nobody may open it: set Token, or Loopback for this machine alone: %w", procmgr.ErrInvalid)
	case !fits(o.Token):
		return nil, xerrors.Errorf("procview: new: Token has a character that a header cannot carry, use printable ASCII without spaces: %w", procmgr.ErrInvalid)
	case o.Token == "":
		v.secret = rand.Text()
	}
	if v.opts.Context == nil {
		v.opts.Context = context.Background()
	}
	v.token = hash(v.secret)
	v.watch.manager, v.watch.told = manager, &v.told
	v.mux = v.routes()
	var err error
	if v.assets, err = readAssets(); err != nil {
		return nil, err
	}
	return v, nil
}

// URL returns the URL for a person to open, with the token in its fragment. base is the
// URL under which the handler serves, such as "http://127.0.0.1:8080/procs/". The
// returned URL gives the full rights of the page.
func (v *View) URL(base string) string {
	base, _, _ = strings.Cut(base, "#")
	if !strings.HasSuffix(base, "/") && !strings.Contains(base, "?") {
		base += "/"
	}
	return base + "#token=" + url.QueryEscape(v.secret)
}

//go:embed page
var pageFiles embed.FS

// An asset is a file of the page.
type asset struct {
	kind string
	data []byte
}

func readAssets() (map[string]asset, error) {
	all := make(map[string]asset)
	for path, file := range map[string]struct{ name, kind string }{
		"/":         {"page.html", "text/html; charset=utf-8"},
		"/page.css": {"page.css", "text/css; charset=utf-8"},
		"/page.js":  {"page.js", "text/javascript; charset=utf-8"},
		"/icon.svg": {"icon.svg", "image/svg+xml"},
	} {
		data, err := fs.ReadFile(pageFiles, "page/"+file.name)
		if err != nil {
			return nil, xerrors.Errorf("procview: new: %w", err)
		}
		all[path] = asset{file.kind, data}
	}
	return all, nil
}

// header are the fields of every answer. Nothing of another site runs or is shown in
// the page, no script or style stands in its markup, and no other page frames it.
var header = map[string]string{
	"Cache-Control":                "no-store",
	"Content-Security-Policy":      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Referrer-Policy":              "no-referrer",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
}

// patience is how long an answer, or one event of a stream, may take to be written.
const patience = 30 * time.Second

// ServeHTTP implements [http.Handler]. Its paths begin at /: see [http.StripPrefix].
func (v *View) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range header {
		w.Header().Set(name, value)
	}
	extend(w)
	if reason := v.foreign(r); reason != "" {
		fail(w, http.StatusForbidden, reason)
		return
	}
	if file, ok := v.assets[r.URL.Path]; ok {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			fail(w, http.StatusMethodNotAllowed, "use GET")
			return
		}
		w.Header().Set("Content-Type", file.kind)
		_, _ = w.Write(file.data) // the browser has gone
		return
	}
	if reason := crossSite(r); reason != "" {
		fail(w, http.StatusForbidden, reason)
		return
	}
	if !v.token.in(r.Header) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		fail(w, http.StatusUnauthorized, "the bearer token is missing or wrong")
		return
	}
	v.mux.ServeHTTP(w, r)
}

// routes returns what serves the requests that need the token.
func (v *View) routes() *http.ServeMux {
	of := func(serve func(http.ResponseWriter, *http.Request, subject)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			k := key{r.URL.Query().Get("chat"), r.PathValue("id")}
			serve(w, r, subject{k.id, k.chat, v.watch.of(k)})
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /list", v.serveList)
	mux.HandleFunc("GET /stream", v.serveStream)
	mux.HandleFunc("GET /{id}/output", of(v.serveOutput))
	mux.HandleFunc("GET /{id}/part", of(v.servePart))
	if !v.opts.ReadOnly {
		mux.HandleFunc("POST /{id}/signal", of(v.serveSignal))
	}
	return mux
}

// A subject is the process that a request is about.
type subject struct {
	id, chat string // chat is "" if the request names none
	manager  procmgr.Manager
}

// A key names a process.
type key struct{ chat, id string }

// extend gives the connection time for the next write. If a ResponseWriter hides its
// connection, the deadlines of the server stay.
func extend(w http.ResponseWriter) {
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Time{}) // best effort
	_ = c.SetWriteDeadline(time.Now().Add(patience))
}

// answer writes a JSON answer.
func answer(w http.ResponseWriter, status int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"error":"the answer cannot be written"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // the caller has gone
}

func fail(w http.ResponseWriter, status int, reason string) {
	answer(w, status, struct {
		Error string `json:"error"`
	}{reason})
}
