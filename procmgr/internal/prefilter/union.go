package prefilter

import (
	"bytes"
	"maps"
	"slices"
)

// A Union searches a text for several filters in one pass. It does not change,
// and is safe for concurrent use.
type Union struct {
	runs    runs
	members []int // which of the filters it has
}

// mostHits is how many hits of a text are noted for each filter. A filter with
// more has something to do all the time, and goes on alone.
const mostHits = 256

// Hits are the places that a Union has found in a text for one of its filters.
type Hits struct {
	at    []int // offsets of required strings, in the order of the lines
	used  int   // how many of them Next has passed
	known int   // before this offset are no others
}

// NewUnion returns the union of some filters, of which any may be nil. It leaves
// out a filter with short strings, for which all others would have to be found
// by short runs. If it were of no help, it returns nil.
func NewUnion(filters []*Filter) *Union {
	folds := slices.ContainsFunc(filters, func(f *Filter) bool { return f != nil && f.runs.folds })
	u := new(Union)
	owners := make(map[string][]owner)
	for i, f := range filters {
		if f == nil || f.runs.hops || f.required.shortest() <= maxWidth {
			continue
		}
		u.members = append(u.members, i)
		for _, s := range f.required {
			o := owner{filter: i}
			if folds && !f.runs.folds {
				o.exact, s = unmarked(s), small(s)
			}
			owners[s] = append(owners[s], o)
		}
	}
	if len(u.members) < 2 {
		return nil
	}
	u.runs = newRuns(slices.Sorted(maps.Keys(owners)), owners, folds)
	return u
}

// Search looks for the required strings of all filters in p, and notes their places
// in hits, which has one Hits for each filter.
func (u *Union) Search(p []byte, hits []Hits) {
	for _, i := range u.members {
		hits[i] = Hits{at: hits[i].at[:0], known: len(p)}
	}
	for i, open := 0, len(u.members); open > 0; {
		at, places := u.runs.next(p, i)
		if places == nil {
			return
		}
		for j := range places {
			place := &places[j]
			begin := u.runs.compare(p, at, place)
			if begin < 0 {
				continue
			}
			for _, o := range place.owners {
				if o.exact != "" && string(p[begin:begin+len(o.exact)]) != o.exact {
					continue
				}
				switch h := &hits[o.filter]; {
				case len(h.at) < mostHits:
					h.at = append(h.at, begin)
				case h.known == len(p):
					h.known = begin
					open--
				}
			}
		}
		i = at + u.runs.step
	}
}

// Next is Index for the part of p from an offset on, at which a line begins. It
// returns an offset in p. hits are of a text that begins with p, or nil. Next
// passes those before the offset.
func (f *Filter) Next(p []byte, from int, hits *Hits) int {
	if hits != nil {
		for hits.used < len(hits.at) && hits.at[hits.used] < from {
			hits.used++
		}
		switch {
		case hits.used < len(hits.at) && hits.at[hits.used] < len(p):
			return hits.at[hits.used]
		case hits.known >= len(p):
			return -1
		case hits.known > from:
			from += bytes.LastIndexByte(p[from:hits.known], '\n') + 1
		}
	}
	if i := f.Index(p[from:]); i >= 0 {
		return from + i
	}
	return -1
}
