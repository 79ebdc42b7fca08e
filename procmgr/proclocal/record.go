package proclocal

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
	"github.com/toolproc/toolproc/procmgr/internal/idempotency"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/internal/prompt"
	"github.com/toolproc/toolproc/procmgr/internal/redact"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/input"
)

// A record is a process that this Local started and about which it still knows
// everything.
type record struct {
	opts *Options // the Local's
	id   string
	chat string
	seq  uint64 // the order of starts
	key  idempotency.Fingerprint
	out  *capture.Stream

	terminal bool // its stdin is one

	// ready is closed when the start has succeeded or failed. The fields below
	// are set before that, and do not change after it.
	ready  chan struct{}
	failed error // why nothing was started
	tree   *osproc.Tree
	in     *input.Inlet    // nil if its stdin is empty
	masks  *redact.Set     // what is masked in the output; never changed
	lacks  []string        // the variables that the policy kept from the command; never changed
	origin *baseenv.Origin // of the start; nil for this program

	told chan struct{} // closed when OnStart has returned; nil if there is none

	// prompts is nil if stdin is empty, or if waiting for input cannot be detected. It
	// is set once the process is shown, so a list may be earlier.
	prompts atomic.Pointer[prompt.Watch]

	look sync.Once // for lookForWithheld

	answers idempotency.Memo[input.Receipt]

	// shown is the process as it was at its last turn; nil before the command has
	// begun. It is read without a lock, and what it points to does not change.
	shown atomic.Pointer[procmgr.Process]

	// mu guards the fields below, and the turns of shown. changed is closed when the
	// state changes. It is nil without a waiter.
	mu       sync.Mutex
	withheld []string      // for Output.Withheld
	asked    procmgr.Cause // of the end; see ask
	changed  chan struct{}

	phase phase // the Local's mu guards it until ready is closed
}

// A phase is how far a start has come.
type phase int

const (
	preparing phase = iota // Close can still prevent the fork
	forking                // the system may start the command at any moment
	begun                  // it was started
	refused                // nothing was started
	abandoned              // Close did not wait for the fork, so failed is ErrClosed, but the command may begin
)

// snapshot returns a copy of the process as it is now. The caller may keep it.
func (r *record) snapshot() procmgr.Process {
	p := clone(*r.shown.Load())
	p.Elapsed = elapsed(&p, time.Now())
	p.LogPath, p.LogError = r.out.Log()
	return p
}

// elapsed returns how long a process has run at a time.
func elapsed(p *procmgr.Process, now time.Time) time.Duration {
	if p.State == procmgr.Exited {
		now = p.ExitedAt
	}
	if p.StartedAt.IsZero() {
		return 0
	}
	return max(now.Sub(p.StartedAt), 0)
}

// now is snapshot for a caller, who is also told whether the log is still there. The
// caller holds no lock.
func (r *record) now() procmgr.Process {
	r.out.LookForLog()
	return r.snapshot()
}

// names returns the names for Output.Withheld.
func (r *record) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.withheld)
}

// turn changes the process and wakes the goroutines that wait for that. The change must
// not touch what p points to. turn returns a snapshot.
func (r *record) turn(change func(p *procmgr.Process)) procmgr.Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := *r.shown.Load()
	change(&p)
	r.shown.Store(&p)
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
	return r.snapshot()
}

// state returns the state; before the command has begun it is "".
func (r *record) state() procmgr.State {
	if p := r.shown.Load(); p != nil {
		return p.State
	}
	return ""
}

// stateAndChange returns the state, and a channel that is closed when it changes.
func (r *record) stateAndChange() (procmgr.State, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.state(), r.changed
}

// started waits for the start. If nothing was started, failed is true and the
// error says why. Any other error is ctx's.
func (r *record) started(ctx context.Context) (failed bool, err error) {
	select {
	case <-r.ready:
		return r.failed != nil, r.failed
	default:
	}
	select {
	case <-r.ready:
		return r.failed != nil, r.failed
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// exited reports whether nothing is left of the process.
func (r *record) exited() bool { return r.state() == procmgr.Exited }

// ask notes why the process is to end; the first cause counts, unless the process has
// reached its MaxLifetime in spite of a request. It reports false if the process has
// exited, or if Close has begun to end it before its MaxLifetime does.
func (r *record) ask(who procmgr.Cause) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch aged := who == procmgr.CauseLifetime; {
	case r.exited(), aged && r.asked == procmgr.CauseShutdown:
		return false
	case r.asked == "" || aged:
		r.asked = who
	}
	return true
}

// log writes one line about the process.
func (r *record) log(level slog.Level, msg string, attrs ...slog.Attr) {
	l := r.opts.Logger
	if !l.Enabled(context.Background(), level) {
		return
	}
	attrs = append(attrs, slog.String("process_id", r.id), slog.String("chat_id", r.chat))
	l.LogAttrs(context.Background(), level, msg, attrs...)
}

// exitCode is the attribute of a log line. A handler drops the empty one.
func exitCode(code *int) slog.Attr {
	if code == nil {
		return slog.Attr{}
	}
	return slog.Int("exit_code", *code)
}

func treesOf(rs []*record) []*osproc.Tree {
	trees := make([]*osproc.Tree, len(rs))
	for i, r := range rs {
		trees[i] = r.tree
	}
	return trees
}
