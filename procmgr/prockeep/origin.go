package prockeep

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
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

// make returns the origin of a start in a chat, as it travels. A function of the options
// that panics makes the start invalid.
func (m *originMaker) make(ctx context.Context, chatID string, terminal bool) (header string, err error) {
	defer func() {
		if v := recover(); v != nil {
			m.logger().Error("hook panicked", slog.String("panic", fmt.Sprint(v)))
			err = xerrors.Errorf("the program's PerChat or UpdateEnv failed: %w", procmgr.ErrInvalid)
		}
	}()
	chat, err := m.perChat(ctx, chatID)
	if err != nil {
		return "", err
	}
	policy, applier := &m.options.Env, &m.policy
	if chat.Env != nil {
		policy, applier = chat.Env, new(baseenv.PolicyApplier)
	}
	applied := applier.Apply(policy, terminal)
	if m.options.UpdateEnv != nil {
		updated, err := applied.Update(chatID, m.options.UpdateEnv)
		if err == nil {
			applied = updated
		} else {
			m.logger().Warn("UpdateEnv failed, the environment goes without it", slog.String("error", err.Error()))
		}
	}
	o := baseenv.Origin{Withheld: slices.Clone(applied.Withheld), WorkDir: m.options.WorkDir, MaxRunning: chat.MaxRunning}
	for _, kv := range applied.Env {
		name, _, _ := strings.Cut(kv, "=")
		if utf8.ValidString(kv) {
			o.Env = append(o.Env, kv)
		} else if utf8.ValidString(name) { // JSON cannot carry the value
			o.Withheld = append(o.Withheld, name)
		}
	}
	o.Dir, _ = os.Getwd() // the keeper says that it is gone
	if chat.WorkDir != "" {
		if o.WorkDir, err = baseenv.WorkDir(chat.WorkDir); err != nil {
			return "", err
		}
	}
	if o.Sandbox, err = encodeSandbox(chat.Sandbox); err != nil {
		return "", err
	}
	for _, s := range m.options.Redact {
		o.Secrets = append(o.Secrets, redact.Value(s))
	}
	o.Secrets = append(o.Secrets, applied.Secrets...)
	data, err := json.Marshal(o)
	return base64.StdEncoding.EncodeToString(data), err
}

// perChat returns the options in which the commands of a chat differ.
func (m *originMaker) perChat(ctx context.Context, chatID string) (chat proclocal.ChatOptions, err error) {
	if m.options.PerChat == nil {
		return chat, nil
	}
	own, err := m.options.PerChat(ctx, chatID)
	if err == nil && own != nil {
		chat = *own
	}
	return chat, err
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
	if o, _ := ctx.Value(originKey{}).(string); o != "" {
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
