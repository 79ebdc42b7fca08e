package procview

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// relist is how often a watch reads the whole list all the same: for records that
	// the manager has forgotten, and for processes that were stopped.
	relist = 30 * time.Second
	// poll is how often it reads the list of a manager without events, and how long it
	// waits before it asks one again that has failed.
	poll = time.Second
	// round is how often it looks at each living process, and gap the shortest time
	// between two looks. A look may cost as much as one at all processes of the
	// machine.
	round, gap = 2 * time.Second, 200 * time.Millisecond
	// most is how many processes it knows.
	most = 20000
)

// A record is a process, and what a watch has seen of it.
type record struct {
	procmgr.Process
	DetachedAt time.Time   `json:"detached_at,omitzero"`
	Ports      []string    `json:"ports,omitempty"`
	Told       []time.Time `json:"told,omitempty"` // when the model was told of it
	Gone       bool        `json:"gone,omitempty"` // the manager does not know it any more

	version int64
	blind   bool // the manager does not tell its ports
}

// A watch knows all processes while somebody looks.
type watch struct {
	manager procmgr.Manager
	told    *modelView

	mu      sync.Mutex // guards the fields below
	users   int
	stop    context.CancelFunc
	stopped chan struct{}
	records map[key]*record
	version int64
	trouble string // why the manager does not answer, or ""
	ready   bool   // the list was read, or could not be
	bell    bell
}

// enter begins the watch if it has no other users, and returns when there is a list, or
// when ctx has ended. The caller calls leave, which waits for the goroutines of the
// watch after its last user.
func (w *watch) enter(ctx context.Context) {
	w.mu.Lock()
	w.users++
	if w.users == 1 {
		if before := w.stopped; before != nil {
			w.mu.Unlock()
			<-before // it ends now
			w.mu.Lock()
		}
		running, stop := context.WithCancel(context.Background())
		w.stop, w.stopped = stop, make(chan struct{})
		w.records, w.ready, w.trouble = make(map[key]*record), false, ""
		go w.run(running, w.stopped)
	}
	w.mu.Unlock()
	for {
		w.mu.Lock()
		ready, heard := w.ready, w.bell.heard()
		w.mu.Unlock()
		if ready {
			return
		}
		select {
		case <-heard:
		case <-ctx.Done():
			return
		}
	}
}

// leave ends the watch if it has no other users.
func (w *watch) leave() {
	w.mu.Lock()
	w.users--
	stopped := w.stopped
	if w.users == 0 {
		w.ready = false
		w.stop()
	} else {
		stopped = nil
	}
	w.mu.Unlock()
	if stopped != nil {
		<-stopped
	}
}

// run keeps the records until ctx ends. leave waits for it, and it waits for its own
// goroutine.
func (w *watch) run(ctx context.Context, stopped chan<- struct{}) {
	defer close(stopped)
	var looks sync.WaitGroup
	looks.Go(func() { w.look(ctx) })
	defer looks.Wait()
	var after string
	listed := time.Time{}
	for ctx.Err() == nil {
		err := error(nil)
		if after == "" {
			after, err = w.begin(ctx)
		}
		if time.Since(listed) >= relist || after == "" && time.Since(listed) >= poll {
			failed := w.list(ctx)
			if failed == nil {
				listed = time.Now()
			}
			if err == nil {
				err = failed
			}
		}
		w.fails(err)
		switch {
		case err != nil:
			sleep(ctx, poll)
		case after == "":
			sleep(ctx, poll)
		default:
			page, err := w.manager.Events(ctx, procmgr.EventsRequest{After: after, Wait: time.Until(listed.Add(relist)), Limit: 1000})
			w.apply(page.Events)
			if page.Next != "" {
				after = page.Next
			}
			if page.Gap {
				listed = time.Time{}
			}
			if err != nil && ctx.Err() == nil {
				w.fails(err)
				sleep(ctx, poll)
				listed = time.Time{}
			}
		}
	}
}

// begin returns from where on to read events. It takes from the events that are kept
// when shells have ended. It returns "" for a manager that has none.
func (w *watch) begin(ctx context.Context) (next string, err error) {
	page, err := w.manager.Events(ctx, procmgr.EventsRequest{Limit: -1})
	if errors.Is(err, errors.ErrUnsupported) {
		return "", nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range page.Events {
		if e.Kind == procmgr.EventDetached {
			w.put(e.Process).DetachedAt = e.At
		}
	}
	if err != nil && page.Next == "" {
		return "", err
	}
	return page.Next, nil
}

// list reads all processes.
func (w *watch) list(ctx context.Context) error {
	page, err := w.manager.List(ctx, procmgr.ListRequest{Limit: most})
	partial := new(procmgr.PartialError)
	if err != nil && !errors.As(err, &partial) {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	there := make(map[key]bool, len(page.Processes))
	for _, p := range page.Processes {
		there[key{p.ChatID, p.ID}] = true
		if r := w.records[key{p.ChatID, p.ID}]; r == nil || r.Gone || !same(r.Process, p) {
			w.put(p)
		}
	}
	if err == nil {
		for k, r := range w.records {
			switch {
			case there[k]:
			case !r.Gone: // pages hear of it until the next list
				r.Gone = true
				w.touch(r)
			default:
				delete(w.records, k)
			}
		}
	}
	w.ready = true
	w.bell.ring()
	return err
}

// same reports whether two snapshots of a process look alike.
func same(a, b procmgr.Process) bool {
	return a.State == b.State && a.Command == b.Command && a.LogPath == b.LogPath && a.LogError == b.LogError && a.StartedAt.Equal(b.StartedAt) && asksLike(a.Waiting, b.Waiting)
}

// asksLike reports whether a and b look alike.
func asksLike(a, b *procmgr.Waiting) bool {
	return a == nil && b == nil || a != nil && b != nil && a.PID == b.PID && a.Program == b.Program && a.Secret == b.Secret && a.Since.Equal(b.Since)
}

func (w *watch) apply(events []procmgr.Event) {
	if len(events) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range events {
		p := e.Process
		if r := w.records[key{p.ChatID, p.ID}]; r != nil {
			p.Command = r.Command // the command of an event is cut
			if e.Kind != procmgr.EventWaiting && p.State != procmgr.Exited {
				p.Waiting = r.Waiting // an event of another kind does not tell
			}
		}
		r := w.put(p)
		switch e.Kind {
		case procmgr.EventDetached:
			r.DetachedAt = e.At
		case procmgr.EventExited:
			r.Ports = nil
		}
	}
	w.bell.ring()
}

// put notes a process. The caller holds the lock.
func (w *watch) put(p procmgr.Process) *record {
	k := key{p.ChatID, p.ID}
	r := w.records[k]
	if r == nil {
		r = &record{}
		w.records[k] = r
	}
	if r.State == procmgr.Exited && p.State != procmgr.Exited {
		r.ExitedAt = time.Time{}
	}
	r.Process, r.Gone = p, false
	w.touch(r)
	return r
}

// touch gives a record a new version. The caller holds the lock.
func (w *watch) touch(r *record) {
	w.version++
	r.version = w.version
}

// fails notes the error of the manager, or that it answers again.
func (w *watch) fails(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	trouble := ""
	if err != nil {
		trouble = cmp.Or(procmgr.Reason(err), "it does not answer")
	}
	if w.trouble != trouble || !w.ready {
		w.trouble, w.ready = trouble, true
		w.bell.ring()
	}
}

// look looks at the living processes, one after the other, until ctx ends. run waits for
// it.
func (w *watch) look(ctx context.Context) {
	for ctx.Err() == nil {
		began := time.Now()
		living := w.living()
		for _, k := range living {
			w.lookAt(ctx, k)
			if !sleep(ctx, gap) {
				return
			}
		}
		sleep(ctx, round-time.Since(began))
	}
}

// living returns the processes to look at, the newest first.
func (w *watch) living() (all []key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, r := range w.records {
		if r.State != procmgr.Exited && !r.blind && !r.Gone {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b key) int { return w.records[b].StartedAt.Compare(w.records[a].StartedAt) })
	return all[:min(len(all), 500)]
}

func (w *watch) lookAt(ctx context.Context, k key) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := w.of(k).Output(ctx, k.id, procmgr.OutputRequest{From: math.MaxInt64, Ports: true, Limit: headtail.Limits{Bytes: 1}})
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.records[k]
	switch {
	case r == nil:
		return
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, procmgr.ErrInvalid):
		r.blind = true
		return
	case err != nil, out.Process.State == procmgr.Exited:
		return // an event or the list tells
	}
	r.State = out.Process.State
	var ports []string
	for _, l := range out.Listening {
		if !slices.Contains(ports, l.Addr) {
			ports = append(ports, l.Addr)
		}
	}
	if !slices.Equal(ports, r.Ports) || !asksLike(r.Waiting, out.Process.Waiting) {
		r.Waiting, r.Ports = out.Process.Waiting, ports
		w.touch(r)
		w.bell.ring()
	}
}

// of returns the manager that knows a process by its ID alone. The Manager of a chat knows
// its own alone.
func (w *watch) of(k key) procmgr.Manager {
	if host, ok := w.manager.(procmgr.Host); ok && k.chat != "" {
		return host.Chat(k.chat)
	}
	return w.manager
}

// A listPage is a part of the list.
type listPage struct {
	Processes []record `json:"processes"`
	Total     int      `json:"total"`
	Live      int      `json:"live"`
}

// page returns the processes whose command, ID or chat has a text, the living ones
// first, and of each kind the newest first. The listing has at most limit of them. It
// also returns the version of what it has seen.
func (w *watch) page(query string, offset, limit int) (listPage, int64) {
	query = strings.ToLower(query)
	w.mu.Lock()
	defer w.mu.Unlock()
	var all [2][]*record // living and exited
	page := listPage{Processes: []record{}}
	for _, r := range w.records {
		if !r.Gone && (query == "" || r.has(query)) {
			kind := 0
			if r.State == procmgr.Exited {
				kind = 1
			}
			all[kind] = append(all[kind], r)
		}
	}
	for _, some := range all {
		slices.SortFunc(some, func(a, b *record) int {
			return cmp.Or(b.StartedAt.Compare(a.StartedAt), cmp.Compare(a.ID, b.ID))
		})
	}
	page.Live, page.Total = len(all[0]), len(all[0])+len(all[1])
	sorted := slices.Concat(all[:]...)[min(max(offset, 0), page.Total):]
	for _, r := range sorted[:min(limit, len(sorted))] {
		page.Processes = append(page.Processes, w.shown(r))
	}
	return page, w.version
}

// has reports whether a record has a text in lower case.
func (r *record) has(query string) bool {
	for _, field := range []string{r.Command, r.ID, r.ChatID} {
		if strings.Contains(strings.ToLower(field), query) {
			return true
		}
	}
	return false
}

// shown returns a copy of a record for a page.
func (w *watch) shown(r *record) record {
	out := *r
	out.Command = clip(out.Command, 16<<10)
	out.Told = w.told.moments(key{r.ChatID, r.ID})
	return out
}

// since returns the records that have changed since a version, the trouble of the
// manager, the version now, and a channel that is closed at the next change. If more
// than limit have changed, whole says that a new listing is shorter.
func (w *watch) since(version int64, limit int) (changed []record, trouble string, now int64, whole bool, heard <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.records {
		if r.version <= version {
			continue
		}
		if len(changed) == limit {
			return nil, w.trouble, w.version, true, w.bell.heard()
		}
		changed = append(changed, w.shown(r))
	}
	slices.SortFunc(changed, func(a, b record) int { return cmp.Compare(a.version, b.version) })
	return changed, w.trouble, w.version, false, w.bell.heard()
}

// get returns the record of a process.
func (w *watch) get(k key) (record, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r := w.records[k]; r != nil {
		return w.shown(r), true
	}
	return record{}, false
}

// sleep returns when a time is over or ctx has ended. It reports whether ctx has not.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
