package procmgr

import (
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// allowance remembers the result of the policy for this program's environment,
// which hardly ever changes between two starts.
type allowance struct {
	mu   sync.Mutex // guards last
	last *inherited
}

// inherited is the part of one environment that children get. It does not
// change.
type inherited struct {
	base     []string
	env      []string
	withheld []string
	// outer are the marks of managers under which this program itself runs. The
	// policy must not drop them: those managers find their descendants by them.
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
