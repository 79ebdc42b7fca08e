package capture

import "time"

// AllHighlights is Highlights for a machine that may be busy.
func (s *Stream) AllHighlights(p Page, room int, failed bool) ([]Highlight, int64) {
	return s.highlightsWithin(p, room, failed, time.Hour)
}
