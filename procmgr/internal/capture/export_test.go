package capture

import "time"

// Literals are the words by which a line tells of trouble.
var Literals = literals

// AllHighlights is Highlights for a machine that may be busy.
func (s *Stream) AllHighlights(p Page, room int) ([]Highlight, int64) {
	return s.highlightsWithin(p, room, time.Hour)
}

// Kind returns what lines of one kind have in common.
func Kind(line string) string { return string(appendKind(nil, []byte(line))) }
