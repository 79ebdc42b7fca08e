package procroute

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"slices"
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

func (r *route) events(ctx context.Context, req procmgr.EventsRequest) (page procmgr.EventPage, err error) {
	hosts, err := r.hosts(ctx)
	if err != nil {
		return page, err
	}
	after, known := readCursor(req.After)
	page.Gap = !known
	for name := range after {
		if _, ok := hosts[name]; !ok {
			page.Gap = true
			delete(after, name)
		}
	}
	limit := cmp.Or(req.Limit, defaultLimit)
	missing := make(map[string]error)
	for more := hosts; len(more) > 0 && (limit < 0 || len(page.Events) < limit); {
		each := share(limit-len(page.Events), len(more))
		pages, late := r.askEvents(ctx, more, after, each, 0)
		add(&page, after, pages, limit)
		maps.Copy(missing, late)
		more = maps.Clone(more)
		maps.DeleteFunc(more, func(name string, _ procmgr.Host) bool { return each < 0 || len(pages[name].Events) < each })
	}
	if req.Wait > 0 && len(page.Events) == 0 && !page.Gap {
		present := maps.Clone(hosts)
		maps.DeleteFunc(present, func(name string, _ procmgr.Host) bool { return missing[name] != nil })
		pages, late := r.askEvents(ctx, present, after, share(limit, len(present)), req.Wait)
		add(&page, after, pages, limit)
		maps.Copy(missing, late)
	}
	if err := ctx.Err(); err != nil {
		return procmgr.EventPage{}, err
	}
	if len(hosts) > 0 && unsupported(hosts, missing) {
		return procmgr.EventPage{}, errNoneTells
	}
	page.Next = writeCursor(after)
	return page, partial(missing)
}

// defaultLimit is how many events a page has at most if the request names no limit.
const defaultLimit = 100

// share returns how many events one of some machines may tell if there is room for so many;
// a negative number is no limit.
func share(room, machines int) int {
	if room < 0 {
		return -1
	}
	return max(room/max(machines, 1), 1)
}

// askEvents asks machines for their events. With a wait, it returns once one of them has
// some.
func (r *route) askEvents(ctx context.Context, hosts map[string]procmgr.Host, after map[string]string, limit int, wait time.Duration) (pages map[string]procmgr.EventPage, missing map[string]error) {
	after = maps.Clone(after) // a machine that is late still reads it
	return askAll(ctx, hosts, r.timeout+wait, func(ctx context.Context, name string, h procmgr.Host) (procmgr.EventPage, error) {
		return h.Events(ctx, procmgr.EventsRequest{After: after[name], Wait: wait, Limit: limit})
	}, func(p procmgr.EventPage) bool {
		return wait > 0 && (len(p.Events) > 0 || p.Gap)
	})
}

// add adds the machines' pages to a page. If they have too many, some of
// these pages wait for the next request, and none is cut.
func add(page *procmgr.EventPage, after map[string]string, pages map[string]procmgr.EventPage, limit int) {
	for _, name := range slices.SortedFunc(maps.Keys(pages), func(a, b string) int { return first(pages[a]).Compare(first(pages[b])) }) {
		p := pages[name]
		if limit > 0 && len(page.Events) > 0 && len(p.Events) > 0 && len(page.Events)+len(p.Events) > limit {
			continue
		}
		page.Events = append(page.Events, p.Events...)
		page.Gap = page.Gap || p.Gap
		if p.Next != "" {
			after[name] = p.Next
		}
	}
	slices.SortStableFunc(page.Events, func(a, b procmgr.Event) int { return a.At.Compare(b.At) })
}

// first returns the time of a page's first event.
func first(p procmgr.EventPage) time.Time {
	if len(p.Events) == 0 {
		return time.Time{}
	}
	return p.Events[0].At
}

// unsupported reports whether no machine knows events.
func unsupported(hosts map[string]procmgr.Host, missing map[string]error) bool {
	for _, err := range missing {
		if !errors.Is(err, errors.ErrUnsupported) {
			return false
		}
	}
	return len(missing) == len(hosts)
}

// writeCursor returns the Next for the places of all machines.
func writeCursor(places map[string]string) string {
	data, _ := json.Marshal(places) // strings can always be written
	return base64.RawURLEncoding.EncodeToString(data)
}

// readCursor returns the places of an After. It reports false if the text is no Next of a
// route.
func readCursor(text string) (places map[string]string, known bool) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(data, &places) != nil || places == nil {
		return make(map[string]string), text == ""
	}
	return places, true
}

var errNoneTells = xerrors.Errorf("no machine tells of events: %w", errors.ErrUnsupported)
