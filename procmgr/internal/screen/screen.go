package screen

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// An emulator draws. It may panic.
type emulator interface {
	// Write draws whole runes.
	Write(p []byte) (int, error)
	// View returns the rows, with their trailing blanks, and the cursor's
	// place.
	View() (rows []string, row, col int)
}

// A Screen is what a terminal shows. It is not safe for concurrent use.
type Screen struct {
	emulator emulator // nil once it has panicked
	cols     int
	rows     int
	modes    Modes
	replies  bytes.Buffer // the answers to the program's questions

	rune     []byte // the beginning of a rune
	state    state
	sequence []byte // a control sequence that has begun: parameters and intermediates
	printed  rune   // the last one, for REP
}

// Modes are the modes that a program has set, and that change what is to be
// typed.
type Modes struct {
	// AppCursor asks for the application's form of the cursor keys.
	AppCursor bool
	// BracketedPaste asks for marks around a pasted text.
	BracketedPaste bool
	// Alternate reports that the program shows its alternate screen, as
	// editors and pagers do.
	Alternate bool
}

// A View is a copy of what a screen shows.
type View struct {
	Rows     []string // without trailing blanks
	Row, Col int      // the cursor's place, from 0
}

// New returns an empty screen.
func New(cols, rows int) *Screen {
	s := &Screen{cols: cols, rows: rows}
	s.emulator = newVT(cols, rows, &s.replies)
	return s
}

// Modes returns the modes as they are now.
func (s *Screen) Modes() Modes { return s.modes }

// View returns what the screen shows now, or nil if the emulator has panicked: then it
// is not known.
func (s *Screen) View() (v *View) {
	defer func() {
		if recover() != nil {
			s.emulator, v = nil, nil
		}
	}()
	if s.emulator == nil {
		return nil
	}
	rows, row, col := s.emulator.View()
	for i := range rows {
		rows[i] = strings.TrimRight(rows[i], " ")
	}
	return &View{rows, row, col}
}

// Write draws the next output of the program. It returns the bytes with which a
// terminal answers it; they are valid until the next Write.
func (s *Screen) Write(p []byte) (reply []byte) {
	s.replies.Reset()
	for p = s.whole(p); len(p) > 0; {
		p = p[s.take(p):]
	}
	return s.replies.Bytes()
}

// whole returns the next output in whole runes, and keeps one that has not ended for the
// next call. U+FFFD stands for each invalid byte. The emulator would leave these out, and
// what follows would be in the wrong column.
func (s *Screen) whole(p []byte) []byte {
	if len(s.rune) > 0 {
		p = append(s.rune, p...)
	}
	end := len(p)
	for back := 1; back < utf8.UTFMax && back <= len(p); back++ {
		if at := len(p) - back; utf8.RuneStart(p[at]) {
			if !utf8.FullRune(p[at:]) {
				end = at
			}
			break
		}
	}
	s.rune, p = bytes.Clone(p[end:]), p[:end]
	if !utf8.Valid(p) {
		p = bytes.Map(func(r rune) rune { return r }, p)
	}
	return p
}

// draw gives text or a whole sequence to the emulator. If that panics, it is
// dropped.
func (s *Screen) draw(p []byte) {
	if s.emulator == nil || len(p) == 0 {
		return
	}
	defer func() {
		if recover() != nil {
			s.emulator = nil
		}
	}()
	_, _ = s.emulator.Write(p)
}

// remember keeps the last rune that is printed, for REP.
func (s *Screen) remember(p []byte) {
	p = bytes.TrimRightFunc(p, func(r rune) bool { return r < ' ' })
	if len(p) > 0 {
		s.printed, _ = utf8.DecodeLastRune(p)
	}
}
