package proclocal

import (
	"slices"
	"strings"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
)

// withhold applies the policy. If from is not nil, another program has applied it to
// its own environment: then only All is this program's.
func (l *Local) withhold(r *record, from *baseenv.Origin) *baseenv.Applied {
	own := l.policy.Apply(&l.opts.Env)
	if r.terminal {
		policy := l.opts.Env
		policy.Interactive = true
		own = l.policyAsking.Apply(&policy)
	}
	if from != nil {
		return &baseenv.Applied{All: own.All, Env: from.Env, Withheld: from.Withheld, Secrets: from.Secrets}
	}
	return own
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
