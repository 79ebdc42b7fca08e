package procmgr

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// A record is a process that this Local started and still knows all about.
type record struct {
	local *Local
	id    string
	chat  string
	seq   uint64 // the order of starts
	key   fingerprint
	out   *capture.Stream

	// ready is closed once the start has succeeded or failed. What follows
	// is set before, and does not change after it.
	ready  chan struct{}
	failed error // why nothing was started
	tree   *osproc.Tree
	// withheld and passedOver are for the fields of an Output of these names.
	withheld   []string
	passedOver string

	// mu guards what follows. changed is closed and replaced when the state
	// changes.
	mu      sync.Mutex
	process Process
	turned  time.Time // when process.State last changed
	asked   Cause     // CauseRequest or CauseShutdown: who asked for the end first
	changed chan struct{}

	// Guarded by the Local's mu.
	exit    *list.Element // in exits, while it is there
	unswept bool          // it has exited, and no search has looked for what left
}

// A fingerprint tells whether two requests are for the same command.
type fingerprint [sha256.Size]byte

func fingerprintOf(req StartRequest) fingerprint {
	h := sha256.New()
	add := func(s string) {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	add(req.Command)
	add(req.WorkDir)
	for _, name := range slices.Sorted(maps.Keys(req.Env)) {
		add(name)
		add(req.Env[name])
	}
	return fingerprint(h.Sum(nil))
}

// snapshot returns the process as it is now, the caller's to keep.
func (r *record) snapshot() Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.withLog(r.process.clone())
}

// withLog adds what there is to say about the log.
func (r *record) withLog(p Process) Process {
	if r.out != nil {
		p.LogPath, p.LogError = r.out.Log()
	}
	return p
}

// clone returns a copy that shares no memory with p.
func (p Process) clone() Process {
	if p.ExitCode != nil {
		code := *p.ExitCode
		p.ExitCode = &code
	}
	return p
}

// output reads from an offset on, and takes a matcher back; nil for none. The
// process is taken before the text: where it says that it has exited, the text
// is all there is.
func (r *record) output(from int64, limit headtail.Limits, m *capture.Matcher) Output {
	process := r.snapshot()
	page := r.out.Read(from, limit, m)
	return Output{
		Process:    process,
		Withheld:   slices.Clone(r.withheld),
		PassedOver: r.passedOver,
		Text:       page.Text,
		Truncated:  page.Truncated,
		Next:       page.Next,
		Matched:    page.Matched,
	}
}

// wait returns once the process is no longer in the given state or has exited,
// m has matched, or d is over; an error is ctx's.
func (r *record) wait(ctx context.Context, in State, d time.Duration, m *capture.Matcher) error {
	if state, _, _ := r.state(); d <= 0 || state != in || state == Exited {
		return nil
	}
	began := time.Now()
	timer := time.NewTimer(d)
	defer timer.Stop()
	woke, err := r.until(ctx, in, timer.C, m)
	r.local.opts.Metrics.waited(began, woke)
	return err
}

// until is wait with a timer. woke is when that happened which ended it; zero
// where it was the timer or ctx.
func (r *record) until(ctx context.Context, in State, over <-chan time.Time, m *capture.Matcher) (woke time.Time, err error) {
	for {
		state, turned, changed := r.state()
		if state != in || state == Exited {
			return turned, nil
		}
		select {
		case <-changed:
		case <-m.Matched():
			return m.At(), nil
		case <-over:
			return time.Time{}, nil
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		}
	}
}

// state returns the state, since when it is that, and what is closed when it
// changes.
func (r *record) state() (state State, turned time.Time, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.process.State, r.turned, r.changed
}

// started waits for the start. failed is true, and the error says why, where
// nothing was started; any other error is ctx's.
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
func (r *record) exited() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.process.State == Exited
}

// ask notes who wants the process to end; the first one counts. It reports
// false where it has exited.
func (r *record) ask(who Cause) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process.State == Exited {
		return false
	}
	if r.asked == "" {
		r.asked = who
		r.tree.Want()
	}
	return true
}

// log writes one line about the process.
func (r *record) log(level slog.Level, msg string, attrs ...slog.Attr) {
	l := r.local.opts.Logger
	if !l.Enabled(context.Background(), level) {
		return
	}
	attrs = append(attrs, slog.String("process_id", r.id), slog.String("chat_id", r.chat))
	l.LogAttrs(context.Background(), level, msg, attrs...)
}
