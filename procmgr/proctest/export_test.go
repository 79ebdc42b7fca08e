package proctest

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

// Cases returns the name of every case with its promise, by "group/case".
func Cases() map[string]string {
	all := make(map[string]string)
	for _, g := range groups {
		for _, tc := range g.cases {
			name := g.name + "/" + tc.name
			if _, ok := all[name]; ok {
				panic("two cases are called " + name)
			}
			all[name] = tc.promise
		}
	}
	return all
}

// RunCase runs one case and returns its failures. longest replaces the longest
// wait; 0 leaves the default.
func RunCase(name string, host procmgr.Host, longest time.Duration) []string {
	if longest == 0 {
		longest = long
	}
	for _, g := range groups {
		for _, tc := range g.cases {
			if g.name+"/"+tc.name == name {
				var r recorder
				r.run(func() { tc.test(context.Background(), &r, host, longest) })
				return r.failures
			}
		}
	}
	return []string{"there is no case " + name}
}

// A recorder takes failures in place of a *testing.T.
type recorder struct {
	mu       sync.Mutex // guards failures
	failures []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, strings.TrimSpace(fmt.Sprintf(format, args...)))
}

func (r *recorder) FailNow() { runtime.Goexit() }
func (r *recorder) SkipNow() { runtime.Goexit() }

// run calls f in a goroutine that FailNow can end, and waits for it.
func (r *recorder) run(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}
