package proclocal

import (
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/internal/redact"
)

// A child gets these variables in addition to the environment that the policy lets
// through.
const (
	envMarker  = "TOOLPROC"
	envProcess = "TOOLPROC_PROCESS_ID"
	envChat    = "TOOLPROC_CHAT_ID"
)

// environ returns the environment of one request's command, without PWD. The variables
// that the policy lets through come first, then the variables of the host's hook, of
// the request, and finally the variables that mark the child as ours. environ notes in
// the record which names the policy kept back, and returns the values to mask in the
// output. own is the result of the policy, and sandboxed are the sandbox's variables.
func (l *Local) environ(r *record, req procmgr.StartRequest, own *baseenv.Environment, sandboxed []string) (env []string, secrets []redact.Value) {
	withheld := own.Withheld
	if len(withheld) > 0 {
		r.log(slog.LevelDebug, "environment variables withheld", slog.Any("names", withheld))
	}
	own = own.Update(l.opts.UpdateEnv, r.chat, r.log)
	var besides []string // variables of the request, which the policy has not seen
	env = over(own.Env, sandboxed)
	marks := []string{envMarker + "=1", envProcess + "=" + r.id}
	if r.chat != "" {
		marks = append(marks, envChat+"="+r.chat)
	}
	marks = append(marks, outerMarks(own.All)...)

	all := make([]string, 0, len(env)+len(req.Env)+len(marks)+2) // PWD comes last, and then the cookie
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if _, replaced := req.Env[name]; !replaced && !isMark(name) {
			all = append(all, kv)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(req.Env)) {
		if !isMark(name) {
			all = append(all, name+"="+req.Env[name])
			besides = append(besides, name+"="+req.Env[name])
		}
	}
	has := func(name string) bool {
		return slices.ContainsFunc(all, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	}
	r.lacks = withheld
	if len(req.Env) > 0 || l.opts.UpdateEnv != nil {
		r.lacks = slices.DeleteFunc(slices.Clone(withheld), has) // the request or the hook may have added it
	}
	secrets = l.secrets(own.Secrets, besides, all)
	if l.bash {
		all = innerShell(all)
	}
	return append(all, marks...), secrets
}

// withDirectory adds PWD to an environment. If the request sets PWD, that value
// is used.
func withDirectory(env []string, req procmgr.StartRequest, dir string) []string {
	if pwd, ok := req.Env["PWD"]; ok {
		dir = pwd
	}
	return foldNames(runtime.GOOS, append(env, "PWD="+dir))
}

// innerShell returns an environment in which bash does not take itself for the
// outermost shell of an SSH connection. The outermost shell reads ~/.bashrc, and
// bash takes itself for it if ssh HOST PROGRAM has started this program.
func innerShell(env []string) []string {
	connected, inner := false, false
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		switch name {
		case "SSH_CLIENT", "SSH2_CLIENT":
			connected = true
		case "SHLVL":
			level, err := strconv.Atoi(value)
			inner = err == nil && level > 0
		}
	}
	if !connected || inner {
		return env
	}
	env = slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "SHLVL=") })
	return append(env, "SHLVL=1")
}

// foldNames keeps the last of several variables whose names are the same for
// Windows. goos is a value of [runtime.GOOS]. On other systems they are
// different names.
func foldNames(goos string, env []string) []string {
	if goos != "windows" {
		return env
	}
	last := make(map[string]int, len(env))
	folded := func(kv string) string {
		// cmd keeps directories in names that begin with "=".
		if i := strings.IndexByte(kv[min(1, len(kv)):], '='); i >= 0 {
			kv = kv[:i+1]
		}
		return strings.ToUpper(kv)
	}
	for i, kv := range env {
		last[folded(kv)] = i
	}
	kept := env[:0]
	for i, kv := range env {
		if last[folded(kv)] == i {
			kept = append(kept, kv)
		}
	}
	return kept
}

// outerMarks returns the marks of managers under which this program itself runs.
// No policy may drop them: those managers find their descendants by them.
func outerMarks(env []string) (marks []string) {
	for _, kv := range env {
		if strings.HasPrefix(kv, osproc.CookiePrefix) {
			marks = append(marks, kv)
		}
	}
	return marks
}

// isMark reports whether only this package may set a variable.
func isMark(name string) bool {
	switch name {
	case "PWD", envMarker, envProcess, envChat:
		return true
	}
	return strings.HasPrefix(name, osproc.CookiePrefix)
}

// over returns env with variables added, in place of variables of the same names.
func over(env, others []string) []string {
	if len(others) == 0 {
		return env
	}
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.ContainsFunc(others, func(other string) bool { return strings.HasPrefix(other, name+"=") })
	})
	return append(env, others...)
}

// lookForWithheld adds the names in a failed command's output to Output.Withheld.
// It is called when the shell has exited, before any caller is told, and only the first
// call has an effect. code is the exit code, or nil if it is not known.
func (r *record) lookForWithheld(code *int) {
	r.look.Do(func() {
		// Most commands end here: nothing was withheld, or there is nothing to explain.
		if len(r.lacks) == 0 || code != nil && *code == 0 {
			return
		}
		names := named(r.lacks, r.output(0, headtail.Limits{}, 0, nil).Text)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.asked == "" {
			names = append(names, r.withheld...)
			slices.Sort(names)
			r.withheld = slices.Compact(names)
		}
	})
}

// named returns the names that a text has as whole words.
func named(names []string, text string) (found []string) {
	for _, name := range names {
		if hasWord(text, name) {
			found = append(found, name)
		}
	}
	return found
}

// hasWord reports whether a name stands in a text with no letter, digit or
// underscore beside it.
func hasWord(text, name string) bool {
	if name == "" {
		return false
	}
	inWord := func(i int) bool {
		if i < 0 || i >= len(text) {
			return false
		}
		c := text[i]
		return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	for at := 0; ; at++ {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		at += i
		if !inWord(at-1) && !inWord(at+len(name)) {
			return true
		}
	}
}
