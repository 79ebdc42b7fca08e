package procmgr

import (
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// allowance remembers what the policy makes of this program's environment,
// which hardly ever changes between two starts.
type allowance struct {
	mu   sync.Mutex // guards last
	last *inherited
}

// inherited is what children get of one environment. It does not change.
type inherited struct {
	base     []string
	env      []string
	withheld []string
	// outer are the marks of managers that this program runs under. They are
	// not the policy's to drop: those find their descendants by them.
	outer []string
}

func (a *allowance) get(policy *envpolicy.Policy) *inherited {
	base := os.Environ()
	a.mu.Lock()
	last := a.last
	a.mu.Unlock()
	if last != nil && slices.Equal(last.base, base) {
		return last
	}
	env, report := policy.Apply(base, nil)
	next := &inherited{base: base, env: env, withheld: report.Withheld}
	for _, kv := range base {
		if strings.HasPrefix(kv, osproc.CookiePrefix) {
			next.outer = append(next.outer, kv)
		}
	}
	a.mu.Lock()
	a.last = next
	a.mu.Unlock()
	return next
}
