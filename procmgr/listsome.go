package procmgr

import (
	"context"
	"errors"
	"iter"
	"slices"

	"golang.org/x/xerrors"
)

// A ListManager is a [Manager] that can list a part of its processes. A Manager
// need not have this method. The function [ListSome] takes any Manager.
type ListManager interface {
	Manager
	// ListSome returns the processes of List that a request asks for, those
	// that matter most first. It copies only those of the page. A proclocal.Local looks
	// at each of the others too, for some 20 ns.
	ListSome(ctx context.Context, req ListRequest) (ListPage, error)
}

// A ListRequest says which processes to list. The zero value is all of them.
type ListRequest struct {
	// State is the state of the processes that are wanted; "" is any.
	State State
	// Offset is how many processes to leave out at the beginning.
	Offset int
	// Limit is the largest number of processes in the page; 0 or a negative
	// number is no limit.
	Limit int
}

// check returns an error that says why nothing can be listed, or nil.
func (req ListRequest) Validate() error {
	switch {
	case req.State != "" && req.State != Running && req.State != Detached && req.State != Exited:
		return xerrors.Errorf("the state %.80q is none: it is %s, %s or %s: %w", string(req.State), Running, Detached, Exited, ErrInvalid)
	case req.Offset < 0:
		return xerrors.Errorf("the offset %d is negative: %w", req.Offset, ErrInvalid)
	}
	return nil
}

// A ListPage is a part of a list. First come the processes that run, then those
// that are detached, then the background processes that have exited, and then
// the others that have exited. Within each kind the newest comes first.
type ListPage struct {
	Processes []Process
	// Total is how many processes there are in the state that was asked for,
	// and Live is how many of them have not exited: these come first. Both
	// count the processes before and after the page, too.
	Total, Live int
}

// ListSome returns a part of the processes of m. If m is no [ListManager], it
// gets all of them from List.
//
// If a Manager wraps another one and shows all of its processes, it should have
// the method
//
//	Unwrap() Manager
//
// ListSome calls it to find the ListManager inside. A Manager that shows only
// some of them must not have it.
func ListSome(ctx context.Context, m Manager, req ListRequest) (ListPage, error) {
	for inner := m; inner != nil; {
		switch wrapper := inner.(type) {
		case ListManager:
			return wrapper.ListSome(ctx, req)
		case interface{ Unwrap() Manager }:
			inner = wrapper.Unwrap()
		default:
			inner = nil
		}
	}
	if err := req.Validate(); err != nil {
		return ListPage{}, xerrors.Errorf("procmgr: list: %w", err)
	}
	all, err := m.List(ctx)
	var partial *PartialError
	if err != nil && !errors.As(err, &partial) {
		return ListPage{}, err
	}
	page, picked := pick(func(yield func(int, *Process) bool) {
		for i := len(all) - 1; i >= 0 && yield(i, &all[i]); i-- {
		}
	}, req)
	for _, i := range picked {
		page.Processes = append(page.Processes, all[i])
	}
	return page, err
}

// pick returns the items that a request asks for, out of all from the newest
// start on, and a page with the counts. It keeps only as many items of a kind as
// a page can have.
func pick[T any](all iter.Seq2[T, *Process], req ListRequest) (page ListPage, picked []T) {
	var kinds [4][]T
	var counts [4]int
	for item, p := range all {
		if req.State != "" && p.State != req.State {
			continue
		}
		kind := kind(p)
		counts[kind]++
		if req.Limit <= 0 || len(kinds[kind])-req.Limit < req.Offset { // no sum, which may overflow
			kinds[kind] = append(kinds[kind], item)
		}
	}
	picked = slices.Concat(kinds[:]...)
	page.Total, page.Live = counts[0]+counts[1]+counts[2]+counts[3], counts[0]+counts[1]
	picked = picked[min(req.Offset, len(picked)):]
	if req.Limit > 0 {
		picked = picked[:min(req.Limit, len(picked))]
	}
	return page, picked
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
