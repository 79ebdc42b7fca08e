package prockeep

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
	"github.com/toolproc/toolproc/procmgr/internal/redact"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

const (
	// headerOrigin has a [baseenv.Origin] in JSON and base64.
	headerOrigin = "Toolproc-Origin"
	// maxBody is the limit of an origin, and of a request, in bytes. Either has room for
	// an environment or a command of the largest size that Linux runs.
	maxBody = 16 << 20
)

// An originMaker makes the origin of a program's starts. It is safe for concurrent use.
type originMaker struct {
	options *proclocal.Options
	policy  baseenv.PolicyApplier
}

// make returns the origin of a start, as it travels. A function of the options that panics
// makes the start invalid.
func (m *originMaker) make() (header string, err error) {
	defer func() {
		if v := recover(); v != nil {
			m.logger().Error("hook panicked", slog.String("panic", fmt.Sprint(v)))
			err = xerrors.Errorf("the program's WorkDir or UpdateEnv failed: %w", procmgr.ErrInvalid)
		}
	}()
	applied := m.policy.Apply(&m.options.Env)
	if m.options.UpdateEnv != nil {
		updated, err := applied.Update(m.options.UpdateEnv)
		if err == nil {
			applied = updated
		} else {
			m.logger().Warn("UpdateEnv failed, the environment goes without it", slog.String("error", err.Error()))
		}
	}
	o := baseenv.Origin{Withheld: slices.Clone(applied.Withheld)}
	for _, kv := range applied.Env {
		name, _, _ := strings.Cut(kv, "=")
		if utf8.ValidString(kv) {
			o.Env = append(o.Env, kv)
		} else if utf8.ValidString(name) { // JSON cannot carry the value
			o.Withheld = append(o.Withheld, name)
		}
	}
	o.Dir, _ = os.Getwd() // the keeper says that it is gone
	if m.options.WorkDir != nil {
		o.WorkDir = m.options.WorkDir()
	}
	if o.WorkDir != "" && o.WorkDir[0] != '~' && !filepath.IsAbs(o.WorkDir) {
		o.WorkDir = filepath.Join(o.Dir, o.WorkDir)
	}
	for _, s := range m.options.Redact {
		o.Secrets = append(o.Secrets, redact.Value(s))
	}
	o.Secrets = append(o.Secrets, applied.Secrets...)
	data, err := json.Marshal(o)
	return base64.StdEncoding.EncodeToString(data), err
}

func (m *originMaker) logger() *slog.Logger {
	if m.options.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return m.options.Logger
}

// originKey is the key of the origin in the context of a start, as it travels.
type originKey struct{}

// inject adds the origin of a call to a request.
func inject(ctx context.Context, header http.Header) {
	if o, ok := ctx.Value(originKey{}).(string); ok {
		header.Set(headerOrigin, o)
	}
}

// withOrigin serves requests that may have an origin.
func withOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if header := r.Header.Get(headerOrigin); header != "" {
			o := new(baseenv.Origin)
			data, err := base64.StdEncoding.DecodeString(header)
			if err != nil || json.Unmarshal(data, o) != nil {
				http.Error(w, "the origin cannot be read", http.StatusBadRequest)
				return
			}
			r = r.WithContext(baseenv.With(r.Context(), o))
		}
		next.ServeHTTP(w, r)
	})
}
