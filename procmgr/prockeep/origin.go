package prockeep

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
	"github.com/toolproc/toolproc/procmgr/internal/redact"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// An origin is what a start takes from the program that asks for it. It travels in front
// of the body of a request; headerOrigin has its length.
type origin struct {
	Env      []string
	Withheld []string       `json:",omitempty"`
	Secrets  []redact.Value `json:",omitempty"`
	Dir      string         `json:",omitempty"`
	Identity identity
}

const (
	headerOrigin = "Toolproc-Origin"
	pathStart    = "/start"
	// maxBody is the limit of an origin, and of a request, in bytes. Either has room for
	// an environment or a command of the largest size that Linux runs.
	maxBody = 16 << 20
)

// An originMaker makes the origin of a program's starts. It is safe for concurrent use.
type originMaker struct {
	options  *proclocal.Options
	identity identity
	policy   baseenv.PolicyApplier

	mu   sync.Mutex // guards the fields below
	of   *baseenv.Applied
	dir  string
	last []byte
}

// make returns the origin of a start, as it travels.
func (m *originMaker) make() ([]byte, error) {
	applied := m.policy.Apply(&m.options.Env)
	dir := ""
	if m.options.WorkDir != nil {
		dir = m.options.WorkDir()
	}
	if wd, err := os.Getwd(); err == nil && dir == "" {
		dir = wd
	}
	m.mu.Lock()
	last, same := m.last, m.of == applied && m.dir == dir
	m.mu.Unlock()
	if same && m.options.UpdateEnv == nil {
		return last, nil
	}
	o := origin{Withheld: slices.Clone(applied.Withheld), Dir: dir, Identity: m.identity}
	env, secrets := slices.Clone(applied.Env), applied.Secrets
	if m.options.UpdateEnv != nil {
		if updated, err := m.options.UpdateEnv(slices.Clone(env)); err == nil {
			added := slices.DeleteFunc(slices.Clone(updated), func(kv string) bool { return slices.Contains(applied.Env, kv) })
			secrets = append(slices.Clone(secrets), baseenv.Secrets(added, updated)...)
			env = updated
			o.Withheld = slices.DeleteFunc(o.Withheld, func(name string) bool {
				return slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
			})
		}
	}
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case utf8.ValidString(kv) && !strings.ContainsRune(kv, 0):
			o.Env = append(o.Env, kv)
		case utf8.ValidString(name): // JSON cannot carry the value
			o.Withheld = append(o.Withheld, name)
		}
	}
	if !m.options.NoRedact {
		for _, s := range m.options.Redact {
			o.Secrets = append(o.Secrets, redact.Value(s))
		}
		o.Secrets = append(o.Secrets, secrets...)
	}
	data, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of, m.dir, m.last = applied, dir, data
	return data, nil
}

type originKey struct{}

// A sender is a transport that puts the origin in the context of a start in front of its
// body.
type sender struct{ *http.Transport }

// RoundTrip implements [http.RoundTripper].
func (s sender) RoundTrip(req *http.Request) (*http.Response, error) {
	data, ok := req.Context().Value(originKey{}).([]byte)
	if !ok || req.URL.Path != pathStart {
		return s.Transport.RoundTrip(req)
	}
	out := req.Clone(req.Context())
	out.Header.Set(headerOrigin, strconv.Itoa(len(data)))
	body := req.Body
	out.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(data), body), body}
	out.ContentLength, out.GetBody = req.ContentLength+int64(len(data)), nil
	return s.Transport.RoundTrip(out)
}

type receivedKey struct{}

// received returns the origin of the request that a context belongs to, or nil.
func received(ctx context.Context) *origin {
	o, _ := ctx.Value(receivedKey{}).(*origin)
	return o
}

// withOrigin serves requests that may have an origin.
func withOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		length := r.Header.Get(headerOrigin)
		if length == "" {
			next.ServeHTTP(w, r)
			return
		}
		o, err := readOrigin(r.Body, length)
		if err != nil {
			http.Error(w, "the origin cannot be read", http.StatusBadRequest)
			return
		}
		in := r.WithContext(context.WithValue(r.Context(), receivedKey{}, o))
		n, _ := strconv.ParseInt(length, 10, 64) // it was read
		in.ContentLength = max(r.ContentLength-n, -1)
		next.ServeHTTP(w, in)
	})
}

func readOrigin(body io.Reader, length string) (*origin, error) {
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 || n > maxBody {
		return nil, xerrors.Errorf("its length is %.20q: %w", length, procmgr.ErrInvalid)
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(body, data); err != nil {
		return nil, err
	}
	var o origin
	return &o, json.Unmarshal(data, &o)
}
