package baseenv

import (
	"os"
	"slices"
	"sync"

	"github.com/toolproc/toolproc/envpolicy"
)

// A PolicyApplier applies a policy to this program's environment. It remembers the
// result, because the environment hardly ever changes between two starts. It is safe
// for concurrent use.
type PolicyApplier struct {
	mu   sync.Mutex // guards last
	last *Applied
}

// Applied is the result of a policy. It does not change.
type Applied struct {
	All      []string // the environment before the policy
	Env      []string // the variables that commands get
	Withheld []string // the names of the others
}

// Apply applies a policy, which is the same at each call.
func (a *PolicyApplier) Apply(policy *envpolicy.Policy) *Applied {
	all := os.Environ()
	a.mu.Lock()
	last := a.last
	a.mu.Unlock()
	if last != nil && slices.Equal(last.All, all) {
		return last
	}
	env, report := policy.Apply(all, nil)
	next := &Applied{All: all, Env: env, Withheld: report.Withheld}
	a.mu.Lock()
	a.last = next
	a.mu.Unlock()
	return next
}
