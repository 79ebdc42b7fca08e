package capture

import (
	"time"

	"github.com/toolproc/toolproc/headtail"
)

// AllHighlights returns the highlights of what a page leaves out, on a machine that may
// be busy.
func (s *Stream) AllHighlights(p Page, room int, failed bool) []Highlight {
	return s.highlightsWithin(p, room, failed, time.Hour)
}

// AllHighlighted is Highlighted on a machine that may be busy.
func (s *Stream) AllHighlighted(p Page, limit headtail.Limits, room int, failed bool) (Page, []Highlight) {
	return s.highlightedWithin(p, limit, room, failed, time.Hour)
}
