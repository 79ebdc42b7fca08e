package procmgr

import (
	"slices"

	"golang.org/x/xerrors"
)

// A ListRequest selects processes. The zero value selects all.
type ListRequest struct {
	// State is the state of the wanted processes; "" is any.
	State State
	// Offset is how many processes to leave out at the beginning.
	Offset int
	// Limit is the largest number of processes in the page; 0 or a negative
	// number is no limit.
	Limit int
}

// A ListPage is a part of a list. First come the processes that run, then those
// that are detached, then the background processes that have exited, and then
// the others that have exited. Within each kind the newest comes first.
type ListPage struct {
	Processes []Process
	// Total is the number of processes in the requested state, and Live the
	// number of those that have not exited: these come first. Both count the
	// processes before and after the page, too.
	Total, Live int
}

// PageOf returns the page that a request asks for, out of all processes in the
// order of their starts, the oldest first. It serves a [Manager] that keeps a
// plain list. An unknown State, and an Offset below 0, are [ErrInvalid]. The page
// shares only the values that the processes point to with all.
func PageOf(all []Process, req ListRequest) (page ListPage, err error) {
	switch {
	case req.State != "" && req.State != Running && req.State != Detached && req.State != Exited:
		return ListPage{}, xerrors.Errorf("the state %.80q is none: it is %s, %s or %s: %w", string(req.State), Running, Detached, Exited, ErrInvalid)
	case req.Offset < 0:
		return ListPage{}, xerrors.Errorf("the offset %d is negative: %w", req.Offset, ErrInvalid)
	}
	var kinds [4][]int // of indices in all
	for i := range slices.Backward(all) {
		p := &all[i]
		if req.State != "" && p.State != req.State {
			continue
		}
		page.Total++
		if p.State != Exited {
			page.Live++
		}
		kinds[kind(p)] = append(kinds[kind(p)], i)
	}
	picked := slices.Concat(kinds[:]...)
	picked = picked[min(req.Offset, len(picked)):]
	if req.Limit > 0 {
		picked = picked[:min(req.Limit, len(picked))]
	}
	for _, i := range picked {
		page.Processes = append(page.Processes, all[i])
	}
	return page, nil
}

// kind is a smaller number for a process that matters more.
func kind(p *Process) int {
	switch {
	case p.State == Running:
		return 0
	case p.State != Exited:
		return 1
	case p.Background:
		return 2
	}
	return 3
}
