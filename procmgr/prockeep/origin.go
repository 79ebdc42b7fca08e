package prockeep

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

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

// chat returns the options of a chat, and the log of its functions.
func (m *originMaker) chat(ctx context.Context, chatID string) (chat proclocal.ChatOptions, log baseenv.Log, err error) {
	log = func(level slog.Level, msg string, attrs ...slog.Attr) {
		if m.options.Logger != nil {
			m.options.Logger.LogAttrs(ctx, level, msg, append(attrs, slog.String("chat_id", chatID))...)
		}
	}
	chat, err = baseenv.PerChat(ctx, m.options.PerChat, chatID, log)
	return chat, log, err
}

// make returns the origin of a start in a chat, as it travels.
func (m *originMaker) make(ctx context.Context, chatID string, terminal bool) (header string, err error) {
	chat, log, err := m.chat(ctx, chatID)
	if err != nil {
		return "", err
	}
	applied := m.policy.Apply(chat.Env, terminal).Update(m.options.UpdateEnv, chatID, log)
	o := baseenv.Origin{Withheld: slices.Clone(applied.Withheld), MaxRunning: chat.MaxRunning}
	for _, kv := range applied.Env {
		name, _, _ := strings.Cut(kv, "=")
		if utf8.ValidString(kv) {
			o.Env = append(o.Env, kv)
		} else if utf8.ValidString(name) { // JSON cannot carry the value
			o.Withheld = append(o.Withheld, name)
		}
	}
	o.Dir, _ = os.Getwd() // the keeper says that it is gone
	if o.WorkDir, err = baseenv.WorkDir(cmp.Or(chat.WorkDir, m.options.WorkDir)); err != nil {
		return "", err
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
