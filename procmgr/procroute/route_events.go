package procroute

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/callerr"
)

// Events implements [procmgr.Manager]. It has the events of every machine that answers,
// by their times; events of one machine stay in their order. If a machine has gone
// since After, the page has Gap.
func (r *route) Events(ctx context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	page, err := r.events(ctx, req)
	return page, callerr.Wrap("events", "", err)
}

func (r *route) events(ctx context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	hosts, err := r.hosts(ctx)
	if err != nil {
		return procmgr.EventPage{}, err
	}
	after, known := r.cursors.read(req.After)
	j := &journal{hosts: hosts, after: after, timeout: r.timeout, req: req, missing: make(map[string]error)}
	j.page.Gap = !known
	for name := range after {
		if _, ok := hosts[name]; !ok {
			j.page.Gap = true
			delete(after, name)
		}
	}
	j.ask(ctx, hosts, 0)
	for len(j.more) > 0 && len(j.page.Events) < j.limit() {
		j.ask(ctx, j.more, 0) // the others have not filled their shares
	}
	if req.Wait > 0 && len(j.page.Events) == 0 && !j.page.Gap {
		j.ask(ctx, j.present(), req.Wait)
	}
	if err := ctx.Err(); err != nil {
		return procmgr.EventPage{}, err
	}
	j.page.Next = r.cursors.write(j.after)
	if len(hosts) > 0 && j.unsupported() {
		return procmgr.EventPage{}, errNoneTells
	}
	return j.page, partial(j.missing)
}

// A journal is a page of the events of many machines, while it is written.
type journal struct {
	hosts   map[string]procmgr.Host
	after   map[string]string // of each machine, behind the events in page
	timeout time.Duration
	req     procmgr.EventsRequest
	page    procmgr.EventPage
	missing map[string]error
	more    map[string]procmgr.Host // have filled their share of the page
}

// ask asks machines for their events. With a wait, it returns once one of them
// has some.
func (j *journal) ask(ctx context.Context, hosts map[string]procmgr.Host, wait time.Duration) {
	timeout := j.timeout
	if timeout > 0 {
		timeout += wait
	}
	after := maps.Clone(j.after) // a machine that is late still reads it
	limit := j.share(len(hosts))
	pages, missing := askAll(ctx, hosts, timeout, func(ctx context.Context, name string, h procmgr.Host) (procmgr.EventPage, error) {
		return h.Events(ctx, procmgr.EventsRequest{After: after[name], Wait: wait, Limit: limit})
	}, func(p procmgr.EventPage) bool {
		return wait > 0 && (len(p.Events) > 0 || p.Gap)
	})
	maps.Copy(j.missing, missing)
	j.more = make(map[string]procmgr.Host)
	for name, p := range pages {
		if limit > 0 && len(p.Events) >= limit {
			j.more[name] = hosts[name]
		}
	}
	j.add(pages)
}

// present returns the machines that have answered so far.
func (j *journal) present() map[string]procmgr.Host {
	present := make(map[string]procmgr.Host, len(j.hosts))
	for name, h := range j.hosts {
		if j.missing[name] == nil {
			present[name] = h
		}
	}
	return present
}

// share returns how many events one of some machines may tell.
func (j *journal) share(machines int) int {
	if limit := j.limit(); limit > 0 {
		return max((limit-len(j.page.Events))/max(machines, 1), 1)
	}
	return -1
}

// limit returns how many events the page may have; negative: no limit.
func (j *journal) limit() int {
	if j.req.Limit == 0 {
		return 100
	}
	return j.req.Limit
}

// add puts the machines' pages together. If they have too many events, some of
// these pages wait for the next request, and none is cut.
func (j *journal) add(pages map[string]procmgr.EventPage) {
	names := slices.Collect(maps.Keys(pages))
	slices.SortFunc(names, func(a, b string) int {
		return first(pages[a]).Compare(first(pages[b]))
	})
	for _, name := range names {
		p := pages[name]
		if limit := j.limit(); limit > 0 && len(p.Events) > 0 && len(j.page.Events)+len(p.Events) > limit && len(j.page.Events) > 0 {
			continue
		}
		j.page.Events = append(j.page.Events, p.Events...)
		j.page.Gap = j.page.Gap || p.Gap
		if p.Next != "" {
			j.after[name] = p.Next
		}
	}
	slices.SortStableFunc(j.page.Events, func(a, b procmgr.Event) int { return a.At.Compare(b.At) })
}

// first returns the time of a page's first event.
func first(p procmgr.EventPage) time.Time {
	if len(p.Events) == 0 {
		return time.Time{}
	}
	return p.Events[0].At
}

// unsupported reports whether no machine knows events.
func (j *journal) unsupported() bool {
	for _, err := range j.missing {
		if !errors.Is(err, errors.ErrUnsupported) {
			return false
		}
	}
	return len(j.missing) == len(j.hosts)
}

const (
	// maxCursor is the longest Next of a page in bytes.
	maxCursor = 4 << 10
	// maxCursors is how many longer ones a route remembers.
	maxCursors = 256
)

// cursors turn the places of all machines into the Next of a page, and back. If
// there are too many machines for its 4 KiB, the places are kept here, and the
// Next is a name for them.
type cursors struct {
	mu    sync.Mutex // guards the fields below
	kept  map[string]map[string]string
	names []string // the oldest first
}

// write returns the Next for the places of all machines.
func (c *cursors) write(places map[string]string) string {
	data, _ := json.Marshal(places) // strings can always be written
	if text := "m." + base64.RawURLEncoding.EncodeToString(data); len(text) <= maxCursor {
		return text
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	name := "k." + rand.Text()
	if c.kept == nil {
		c.kept = make(map[string]map[string]string)
	}
	c.kept[name] = maps.Clone(places)
	c.names = append(c.names, name)
	if len(c.names) > maxCursors {
		delete(c.kept, c.names[0])
		c.names = c.names[1:]
	}
	return name
}

// read returns the places of an After, which the caller may change. It reports
// false if the text is no Next of a route.
func (c *cursors) read(text string) (places map[string]string, known bool) {
	places = make(map[string]string)
	if text == "" {
		return places, true
	}
	c.mu.Lock()
	kept, ok := c.kept[text]
	c.mu.Unlock()
	if ok {
		return maps.Clone(kept), true
	}
	if len(text) > 2 && text[:2] == "m." {
		data, err := base64.RawURLEncoding.DecodeString(text[2:])
		if err == nil && json.Unmarshal(data, &places) == nil && places != nil {
			return places, true
		}
	}
	return make(map[string]string), false
}

var errNoneTells = xerrors.Errorf("no machine tells of events: %w", errors.ErrUnsupported)
