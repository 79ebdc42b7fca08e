package screen

import (
	"fmt"
	"slices"
)

// A State is a screen for another program that goes on with it. It has no
// colours, because a View has none, and no scroll region.
type State struct {
	Cols     int    `json:"cols"`
	Rows     int    `json:"rows"`
	View     View   `json:"view"`
	Primary  *View  `json:"primary,omitempty"` // of the other screen, while the alternate one is shown
	Modes    Modes  `json:"modes"`
	Parser   state  `json:"parser,omitempty"`
	Sequence []byte `json:"sequence,omitempty"`
	Rune     []byte `json:"rune,omitempty"`
	Printed  rune   `json:"printed,omitempty"`
}

// Save returns the state of the screen.
func (s *Screen) Save() State {
	saved := State{
		Cols: s.cols, Rows: s.rows, View: s.View(), Modes: s.modes,
		Parser: s.state, Sequence: slices.Clone(s.sequence), Rune: slices.Clone(s.rune), Printed: s.printed,
	}
	if s.modes.Alternate {
		saved.Primary = s.primary
	}
	return saved
}

// Resume returns a screen that shows what another one showed when its Save was
// called.
func Resume(saved State) *Screen {
	s := New(saved.Cols, saved.Rows)
	if saved.Primary != nil {
		s.show(*saved.Primary)
		s.primary = saved.Primary
	}
	if saved.Modes.Alternate {
		s.draw([]byte("\x1b[?1049h"))
	}
	s.show(saved.View)
	if saved.View.Stale {
		s.emulator, s.last = nil, saved.View
	}
	s.replies.Reset()
	s.modes, s.printed = saved.Modes, saved.Printed
	s.state = min(saved.Parser, ignored)
	s.sequence, s.rune = saved.Sequence, saved.Rune
	return s
}

// show draws rows, and moves the cursor to its place.
func (s *Screen) show(v View) {
	for i, row := range v.Rows {
		s.draw(fmt.Appendf(nil, "\x1b[%d;1H%s", i+1, row))
	}
	s.draw(fmt.Appendf(nil, "\x1b[%d;%dH", v.Row+1, min(v.Col, s.cols-1)+1))
}
