package screen

import (
	"bytes"
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

	state    state
	sequence []byte // a control sequence that has begun: parameters and intermediates
	rune     []byte // the beginning of a rune
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
		rows[i] = trimRight(rows[i])
	}
	return &View{rows, row, col}
}

func trimRight(row string) string {
	for len(row) > 0 && row[len(row)-1] == ' ' {
		row = row[:len(row)-1]
	}
	return row
}

// Write draws the next output of the program. It returns the bytes with which a
// terminal answers it; they are valid until the next Write.
func (s *Screen) Write(p []byte) (reply []byte) {
	s.replies.Reset()
	for len(p) > 0 {
		n := s.take(p)
		p = p[n:]
	}
	return s.replies.Bytes()
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

// text draws text. It keeps a rune that has not ended for the next call.
func (s *Screen) text(p []byte) {
	if len(s.rune) > 0 {
		for len(p) > 0 && !utf8.FullRune(s.rune) && !utf8.RuneStart(p[0]) {
			s.rune, p = append(s.rune, p[0]), p[1:]
		}
		if len(p) == 0 && !utf8.FullRune(s.rune) {
			return
		}
		s.cutRune()
	}
	whole := len(p)
	for back := 1; back < utf8.UTFMax && back <= len(p); back++ {
		if at := len(p) - back; utf8.RuneStart(p[at]) {
			if !utf8.FullRune(p[at:]) {
				whole = at
			}
			break
		}
	}
	s.drawText(p[:whole])
	s.rune = append(s.rune, p[whole:]...)
}

// cutRune draws the rune that has begun, whether it has ended or not.
func (s *Screen) cutRune() {
	s.drawText(s.rune)
	s.rune = s.rune[:0]
}

// drawText draws text, with U+FFFD for each invalid byte. The emulator would leave
// these out, and what follows would be in the wrong column.
func (s *Screen) drawText(p []byte) {
	if !utf8.Valid(p) {
		p = bytes.Map(func(r rune) rune { return r }, p)
	}
	s.remember(p)
	s.draw(p)
}

// remember keeps the last rune that is printed, for REP.
func (s *Screen) remember(p []byte) {
	p = bytes.TrimRightFunc(p, func(r rune) bool { return r < ' ' })
	if len(p) > 0 {
		s.printed, _ = utf8.DecodeLastRune(p)
	}
}
