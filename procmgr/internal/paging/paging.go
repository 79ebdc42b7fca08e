// Package paging picks the processes of a page of a list, for the contract and for a
// Manager that does not want to copy all that it has.
package paging

import (
	"slices"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// The states of a process, as procmgr names them.
const (
	running  = "running"
	detached = "detached"
	exited   = "exited"
)

// A Request is a procmgr.ListRequest.
type Request struct {
	State         string
	Offset, Limit int
}

// Pick returns the indices of the processes of a page, out of n in the order of their
// starts, and how many there are in the requested state, and of these how many have not
// exited. of tells the state of a process, and whether it is in the background; one that is not
// ok counts for none.
func Pick(n int, req Request, of func(i int) (state string, background, ok bool)) (picked []int, total, live int, err error) {
	switch {
	case req.State != "" && req.State != running && req.State != detached && req.State != exited:
		return nil, 0, 0, xerrors.Errorf("the state %.80q is none: it is %s, %s or %s: %w", req.State, running, detached, exited, sentinel.ErrInvalid)
	case req.Offset < 0:
		return nil, 0, 0, xerrors.Errorf("the offset %d is negative: %w", req.Offset, sentinel.ErrInvalid)
	}
	var kinds [4][]int // what matters more comes first
	for i := n - 1; i >= 0; i-- {
		state, background, ok := of(i)
		if !ok || req.State != "" && state != req.State {
			continue
		}
		kind := 3
		switch {
		case state == running:
			kind = 0
		case state != exited:
			kind = 1
		case background:
			kind = 2
		}
		total++
		if state != exited {
			live++
		}
		if req.Limit <= 0 || len(kinds[kind])-req.Limit < req.Offset { // no sum, which may overflow
			kinds[kind] = append(kinds[kind], i)
		}
	}
	picked = slices.Concat(kinds[:]...)
	picked = picked[min(req.Offset, len(picked)):]
	if req.Limit > 0 {
		picked = picked[:min(req.Limit, len(picked))]
	}
	return picked, total, live, nil
}
