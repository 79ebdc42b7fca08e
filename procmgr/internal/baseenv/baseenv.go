// Package baseenv has what a command starts from: the environment and the
// directory of the program that asks for it, which isn't the program the manager
// runs in if a keeper lies between them.
package baseenv

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/internal/redact"
)

// An Origin is what a start takes from the program that asked for it instead of
// from the program the manager runs in. It does not change. In JSON it is without its
// functions.
type Origin struct {
	Env      []string       // NAME=value, what the policy of that program let through
	Withheld []string       // the names of the variables it kept back
	Secrets  []redact.Value // what to mask in output
	WorkDir  string         // the directory that its options name; "" if they name none
	Dir      string         // the program's current directory; "" if it is gone

	Sandbox    json.RawMessage `json:",omitempty"` // of the chat; nil is the manager's own
	MaxRunning int             `json:",omitempty"` // of the chat; 0 is the manager's limit

	// Limits are not of a start: List changes Retain and OutputMemory of the Local to
	// them first. nil changes nothing.
	Limits *Limits `json:"-"`

	// Claim is called before the fork with the evidence by which the process will
	// be found. If it returns an error, nothing is forked and the start is refused
	// with that error. nil claims nothing.
	Claim func(osproc.Lineage) error `json:"-"`
	// Refused is called once if nothing runs although Claim has returned nil, or
	// although it was never called. Ended is called once when nothing is left of the
	// process, before anyone hears of that. Either may be nil.
	Refused func()                `json:"-"`
	Ended   func(procmgr.Process) `json:"-"`
}

type key struct{}

// With returns a context whose starts take from o.
func With(ctx context.Context, o *Origin) context.Context {
	return context.WithValue(ctx, key{}, o)
}

// From returns the Origin of a context, or nil if the start takes from this program.
func From(ctx context.Context) *Origin {
	o, _ := ctx.Value(key{}).(*Origin)
	return o
}

// Limits are the limits of a manager that a later program may change. The zero value of a
// field is the default.
type Limits struct {
	MaxRunning, MaxRunningPerChat int
	Retain                        time.Duration
	OutputMemory                  int64
}

// A Log writes a line of a program's log.
type Log func(level slog.Level, msg string, attrs ...slog.Attr)

// Hook runs a function of a program's options. If the function panics, Hook logs the panic
// and returns: a mistake of the program must not lose a process.
func (log Log) Hook(name string, f func()) {
	defer func() {
		if v := recover(); v != nil {
			log(slog.LevelError, "hook panicked", slog.String("hook", name), slog.String("panic", fmt.Sprint(v)))
		}
	}()
	f()
}

// PerChat calls the PerChat of a program. nil is the zero value. If PerChat panics, the
// error has nothing of that, since a model reads it.
func PerChat[T any](ctx context.Context, perChat func(ctx context.Context, chatID string) (*T, error), chatID string, log Log) (own T, err error) {
	if perChat == nil {
		return own, nil
	}
	var chat *T
	err = xerrors.Errorf("the host's PerChat failed: %w", procmgr.ErrInvalid)
	log.Hook("PerChat", func() { chat, err = perChat(ctx, chatID) })
	if err == nil && chat != nil {
		own = *chat
	}
	return own, err
}

// A PolicyApplier applies Policy to this program's environment. It remembers the
// results, because the environment hardly ever changes between two starts. It is safe
// for concurrent use.
type PolicyApplier struct {
	Policy *envpolicy.Policy

	last, lastOnTerminal atomic.Pointer[Environment]
}

// An Environment is the result of a policy. It does not change.
type Environment struct {
	All      []string // the environment before the policy
	Env      []string // the variables that commands get
	Withheld []string // the names of the others
	// Secrets are the values to mask in output: the values of variables that look like
	// secrets, unless Exclude or IncludeOnly drops the variable, and the secrets that
	// Set adds.
	Secrets []redact.Value
}

// Apply applies the policy of a chat, or Policy if that is nil, for a command with or
// without a terminal.
func (a *PolicyApplier) Apply(chat *envpolicy.Policy, terminal bool) *Environment {
	if chat != nil {
		a = &PolicyApplier{Policy: chat}
	}
	policy, all, last := a.Policy, environ(), &a.last
	if terminal {
		last = &a.lastOnTerminal
	}
	if known := last.Load(); known != nil && slices.Equal(known.All, all) {
		return known
	}
	own := *policy
	own.Interactive = own.Interactive || terminal
	env, withheld := own.Apply(all)
	next := &Environment{All: all, Env: env, Withheld: withheld, Secrets: secretsOf(policy, all, env)}
	if terminal {
		next.Env = onTerminal(policy, env)
	}
	last.Store(next)
	return next
}

// terminalType is the TERM of a terminal. It has no REP and no keyboard of
// newer terminals.
const terminalType = "screen-256color"

// onTerminal returns the environment of a command with a terminal. An inherited type or
// size describes another terminal.
func onTerminal(policy *envpolicy.Policy, env []string) []string {
	_, own := policy.Set["TERM"]
	env = slices.DeleteFunc(env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return name == "TERM" && !own || name == "LINES" || name == "COLUMNS"
	})
	if !own {
		env = append(env, "TERM="+terminalType)
	}
	return env
}

// Update returns what a program's UpdateEnv makes of the variables that commands get, or
// a if it fails. A variable that it adds is not withheld, and its value is masked if it
// looks like a secret.
func (a *Environment) Update(update func(chatID string, env []string) ([]string, error), chatID string, log Log) *Environment {
	if update == nil {
		return a
	}
	env, updated := []string(nil), false
	log.Hook("UpdateEnv", func() {
		var err error
		if env, err = update(chatID, slices.Clone(a.Env)); err != nil {
			log(slog.LevelWarn, "UpdateEnv failed, the environment goes without it", slog.String("error", err.Error()))
		}
		updated = err == nil
	})
	if !updated {
		return a
	}
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return strings.ContainsRune(kv, 0) })
	added := slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return slices.Contains(a.Env, kv) })
	next := &Environment{All: a.All, Env: env, Secrets: slices.Concat(a.Secrets, Secrets(added, env))}
	for _, name := range a.Withheld {
		if !slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }) {
			next.Withheld = append(next.Withheld, name)
		}
	}
	return next
}

// defaultPath is the PATH of commands if this program has none, as the service manager
// and containers set it. Some shells would look in the current directory, too.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environ returns this program's environment, which on Unix always has a PATH.
func environ() []string {
	all := os.Environ()
	if runtime.GOOS != "windows" && os.Getenv("PATH") == "" {
		all = append(all, "PATH="+defaultPath)
	}
	return all
}

func secretsOf(policy *envpolicy.Policy, all, env []string) []redact.Value {
	candidates, _ := envpolicy.Policy{
		IncludeOnly: policy.IncludeOnly, Exclude: policy.Exclude, Allow: []string{"*"}, Interactive: true,
	}.Apply(all)
	for _, name := range slices.Sorted(maps.Keys(policy.Set)) {
		candidates = append(candidates, name+"="+policy.Set[name])
	}
	return Secrets(candidates, env)
}

// Secrets returns the values to mask: the values of candidates that look like secrets,
// except values that a variable in env also has without looking like a secret.
func Secrets(candidates, env []string) (secrets []redact.Value) {
	for _, kv := range candidates {
		if name, value, _ := strings.Cut(kv, "="); envpolicy.IsSecret(name, value) {
			secrets = append(secrets, redact.Of(name, value)...)
		}
	}
	if len(secrets) == 0 {
		return nil
	}
	public := make(map[string]bool)
	for _, kv := range env {
		if name, value, _ := strings.Cut(kv, "="); !envpolicy.IsSecret(name, value) {
			public[value] = true
		}
	}
	return slices.DeleteFunc(secrets, func(v redact.Value) bool { return public[v.Value] })
}

// WorkDir returns a directory that options name as an absolute path. A relative one is
// below this program's current directory, and a ~ is the home of its user. "" stays "".
func WorkDir(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	home, _ := os.UserHomeDir() // ExpandHome reports an unknown home
	name, err := ExpandHome(name, home)
	if err != nil {
		return "", err
	}
	dir, err := filepath.Abs(name)
	if err != nil {
		return "", xerrors.Errorf("the directory %s is relative, and this program's own has gone: %w", osproc.NameDirectory(name), procmgr.ErrInvalid)
	}
	return dir, nil
}

// ExpandHome replaces a ~ that stands alone or before a slash by the home.
func ExpandHome(name, home string) (string, error) {
	if name == "" || name[0] != '~' || len(name) > 1 && !os.IsPathSeparator(name[1]) {
		return name, nil
	}
	if home == "" {
		return "", xerrors.Errorf("no home is known for %s; name the directory in full: %w", osproc.NameDirectory(name), procmgr.ErrInvalid)
	}
	return filepath.Join(home, name[1:]), nil
}
