package capture

import (
	"math"
	"slices"
	"sync"

	"github.com/toolproc/toolproc/procmgr/internal/prefilter"
)

const (
	// atOnce is how many bytes of lines a pattern is matched against by the
	// goroutine that reads the output. More would hold up the process. To look
	// for the lines that may match takes far less time.
	atOnce = 4 << 10
	// mostBehind bounds how many bytes a search may be behind the output. When
	// there are as many, the output waits for the search.
	mostBehind = 256 << 10
)

// A search has the matchers of a stream. They search a text as it arrives. If a
// matcher needs long for it, the rest of the text is put aside, and a goroutine
// searches it while the output goes on.
//
// The stream's mu guards the fields.
type search struct {
	matchers []*Matcher
	union    *prefilter.Union // of their filters, if there are several; nil for none
	hits     []prefilter.Hits // of each matcher, if there is a union
	aside    []passage        // the texts that were put aside, the oldest first
	behind   int              // the bytes of all texts that are not searched yet
	busy     bool             // a goroutine searches
	moved    *sync.Cond       // it has searched a passage, or has ended; its lock is mu
	told     func()           // called without the lock when it has searched a passage; nil for nothing to call
}

// A passage is a text that some matchers have still to search. pending is the
// text that was held back behind it.
type passage struct {
	text    *[]byte // of passageTexts
	pending []byte
	rests   []rest
}

// A rest is the part of a passage, from an offset on, that a matcher has still
// to search.
type rest struct {
	m    *Matcher
	from int
}

// passageTexts lends the texts of passages.
var passageTexts = sync.Pool{New: func() any { return new([]byte) }}

// join adds a matcher.
func (s *search) join(m *Matcher) {
	s.matchers = append(s.matchers, m)
	s.unite()
}

// unite lets one pass over a text do for all filters.
func (s *search) unite() {
	filters := make([]*prefilter.Filter, len(s.matchers))
	for i, m := range s.matchers {
		filters[i] = m.filter
	}
	if s.union = prefilter.NewUnion(filters); s.union != nil {
		s.hits = make([]prefilter.Hits, len(filters))
	} else {
		s.hits = nil
	}
}

// leave takes a matcher back. When leave returns, the matcher has searched all
// text that the stream had at the call. The lock is not held all the time.
func (s *search) leave(m *Matcher) {
	if i := slices.Index(s.matchers, m); i >= 0 {
		s.matchers = slices.Delete(s.matchers, i, i+1)
		s.unite()
	}
	for m.ahead > 0 && !m.over() {
		s.moved.Wait()
	}
}

// awaitRoom returns when there is room for another text. The lock is not held
// all the time.
func (s *search) awaitRoom() {
	for s.behind >= mostBehind {
		s.moved.Wait()
	}
}

// awaitEnd returns when nothing is left to search. The lock is not held all the
// time.
func (s *search) awaitEnd() {
	for s.busy {
		s.moved.Wait()
	}
}

// add lets the matchers search the next text, now or later. pending is the text
// that is held back behind it. visible returns the offset at which a caller
// sees the stream end.
func (s *search) add(text, pending []byte, visible func() int64) {
	if s.union != nil {
		s.union.Search(text, s.hits)
	}
	var rests []rest
	for i, m := range s.matchers {
		var hits *prefilter.Hits
		if s.union != nil {
			hits = &s.hits[i]
		}
		from := 0
		if m.ahead == 0 {
			from = m.feed(text, hits, atOnce)
			if from == len(text) {
				m.look(visible, pending)
				continue
			}
		} else if m.over() {
			continue
		}
		m.ahead++
		rests = append(rests, rest{m, from})
	}
	if len(rests) == 0 {
		return
	}
	kept := passageTexts.Get().(*[]byte)
	*kept = append((*kept)[:0], text...)
	s.aside = append(s.aside, passage{kept, slices.Clone(pending), rests})
	s.behind += len(text)
	if !s.busy {
		s.busy = true
		go s.catchUp()
	}
}

// catchUp searches the texts that were put aside. The end of the stream waits
// for it.
func (s *search) catchUp() {
	mu := s.moved.L
	mu.Lock()
	defer mu.Unlock()
	for len(s.aside) > 0 {
		p := s.aside[0]
		s.aside = slices.Delete(s.aside, 0, 1)
		mu.Unlock()
		for _, r := range p.rests {
			r.m.feed((*p.text)[r.from:], nil, math.MaxInt)
			r.m.look(nil, p.pending)
		}
		if s.told != nil {
			s.told()
		}
		mu.Lock()
		for _, r := range p.rests {
			r.m.ahead--
		}
		s.behind -= len(*p.text)
		passageTexts.Put(p.text)
		s.moved.Broadcast()
	}
	s.busy = false
	s.moved.Broadcast()
}
