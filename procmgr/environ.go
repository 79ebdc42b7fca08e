package procmgr

import (
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
)

// The variables that a child finds besides those of the policy.
const (
	envMarker  = "TOOLPROC"
	envProcess = "TOOLPROC_PROCESS_ID"
	envChat    = "TOOLPROC_CHAT_ID"
)

// environ is what the child of one request gets: what the policy lets through,
// then the host's hook, then the request, then what marks the child as ours.
func (l *Local) environ(r *record, req StartRequest, dir, cookie string) []string {
	base := os.Environ()
	env, report := l.opts.Env.Apply(base, nil)
	if len(report.Withheld) > 0 {
		r.log(slog.LevelDebug, "environment variables withheld", slog.Any("names", report.Withheld))
	}
	if l.opts.UpdateEnv != nil {
		l.hook("UpdateEnv", r, func() {
			updated, err := l.opts.UpdateEnv(slices.Clone(env))
			if err != nil {
				r.log(slog.LevelWarn, "UpdateEnv failed, the environment goes without it", slog.Any("error", err))
				return
			}
			env = slices.DeleteFunc(slices.Clone(updated), func(kv string) bool { return strings.ContainsRune(kv, 0) })
		})
	}
	set := make(map[string]string, len(req.Env)+5)
	set["PWD"] = dir
	maps.Copy(set, req.Env)
	set[envMarker] = "1"
	set[envProcess] = r.id
	set[envChat] = r.chat
	set[cookie] = "1"
	// The marks of a manager that this program runs under are not the
	// policy's to drop: that manager finds its descendants by them.
	for _, kv := range base {
		if name, value, _ := strings.Cut(kv, "="); strings.HasPrefix(name, cookiePrefix) {
			set[name] = value
		}
	}
	env = slices.DeleteFunc(env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, replaced := set[name]
		return replaced
	})
	if r.chat == "" {
		delete(set, envChat)
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		env = append(env, name+"="+set[name])
	}
	return env
}
