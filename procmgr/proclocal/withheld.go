package proclocal

import (
	"slices"
	"strings"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
)

// maxUnasked is how many variables are named that neither a command nor its output has
// named.
const maxUnasked = 16

// withhold applies the policy. If base is not nil, another program has applied it to
// its own environment: then only All is this program's.
func (l *Local) withhold(r *record, base *baseenv.Base) *baseenv.Applied {
	own := l.policy.Apply(&l.opts.Env)
	if r.terminal {
		policy := l.opts.Env
		policy.Interactive = true
		own = l.policyAsking.Apply(&policy)
	}
	if base != nil {
		return &baseenv.Applied{All: own.All, Env: base.Env, Withheld: base.Withheld, Secrets: base.Secrets}
	}
	return own
}

// lookForWithheld adds to the names in Output.Withheld if the command has failed:
// those in its output. If neither the command nor its output has a name, it adds
// all that the chat was not told before. A build that lacks a variable seldom says so.
// It is called when the shell has exited, before any caller is told, and only the first
// call has an effect. code is the exit code, or nil if it is not known.
func (l *Local) lookForWithheld(r *record, code *int) {
	r.look.Do(func() {
		// Most commands end here: nothing was withheld, or there is nothing to explain.
		if len(r.lacks) == 0 {
			return
		}
		r.mu.Lock()
		names, asked := r.withheld, r.asked
		r.mu.Unlock()
		if asked == "" && (code == nil || *code != 0) {
			names = append(named(r.lacks, []string{r.output(0, headtail.Limits{}, 0, nil).Text}), names...)
			if len(names) == 0 {
				names = l.told.tell(r.chat, r.lacks)
				names = names[:min(len(names), maxUnasked)]
			}
			slices.Sort(names)
			names = slices.Compact(names)
			r.mu.Lock()
			r.withheld = names
			r.mu.Unlock()
		}
		l.told.tell(r.chat, names)
	})
}

// named returns the names that are in at least one of the texts, as whole
// words.
func named(names, texts []string) (found []string) {
	for _, name := range names {
		if slices.ContainsFunc(texts, func(text string) bool { return hasWord(text, name) }) {
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
