package proclocal

import (
	"maps"
	"os/exec"
	"slices"
	"strings"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// A child gets these variables in addition to the environment that the policy lets
// through.
const (
	envMarker  = "TOOLPROC"
	envProcess = "TOOLPROC_PROCESS_ID"
	envChat    = "TOOLPROC_CHAT_ID"
)

// environ returns the environment of a command, without PWD. Of two variables of one
// name the later one counts: the variables that the policy lets through come first, then
// the variables of the sandbox and of the request, and finally the marks of a child of ours.
func (l *Local) environ(r *record, req procmgr.StartRequest, own setup) []string {
	env := slices.Concat(own.env.Env, variables(own.sandbox))
	if l.bash {
		// The outermost bash of an SSH connection reads ~/.bashrc, and so would the shell
		// of a command if ssh HOST PROGRAM has started this program.
		env = append(env, "SHLVL=1")
	}
	env = append(env, pairs(req.Env)...)
	env = slices.DeleteFunc(env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return isMark(name)
	})
	env = append(env, envMarker+"=1", envProcess+"="+r.id)
	if r.chat != "" {
		env = append(env, envChat+"="+r.chat)
	}
	return append(env, outerMarks(own.env.All)...)
}

// pairs returns variables as NAME=value.
func pairs(variables map[string]string) (env []string) {
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		env = append(env, name+"="+variables[name])
	}
	return env
}

// withDirectory adds PWD to an environment, and drops what later variables replace, and
// what has a NUL byte, as os/exec does. If the request sets PWD, that value is used.
func withDirectory(env []string, req procmgr.StartRequest, dir string) []string {
	if pwd, ok := req.Env["PWD"]; ok {
		dir = pwd
	}
	return (&exec.Cmd{Env: append(env, "PWD="+dir)}).Environ()
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

// named returns the names that a text has as whole words of letters, digits and _, and of
// other names all that it has.
func named(names []string, text string) []string {
	if len(names) == 0 {
		return nil
	}
	between := func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}
	words := make(map[string]bool)
	for word := range strings.FieldsFuncSeq(text, between) {
		words[word] = true
	}
	var found []string
	for _, name := range names {
		if words[name] || strings.ContainsFunc(name, between) && strings.Contains(text, name) {
			found = append(found, name)
		}
	}
	return found
}
