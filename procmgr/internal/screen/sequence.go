package screen

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	esc = 0x1b
	// maxSequence is how many bytes a control sequence may have before its
	// last one.
	maxSequence = 128
	// maxNumber is the largest parameter that the emulator gets: it counts to
	// some of them.
	maxNumber = 9999
)

// A state says which bytes come next.
type state uint8

const (
	ground  state = iota // text, and sequences that the emulator reads by itself
	escaped              // after an ESC
	control              // in a control sequence, after ESC [
	ignored              // in a control sequence that is too long
)

// take takes the next bytes of the output that belong together, and returns how
// many these are. p has whole runes.
func (s *Screen) take(p []byte) int {
	if s.state == ground {
		n := bytes.IndexByte(p, esc)
		if n == 0 {
			s.state = escaped
			return 1
		}
		if n < 0 {
			n = len(p)
		}
		s.remember(p[:n])
		s.draw(p[:n])
		return n
	}
	c, n := utf8.DecodeRune(p)
	switch {
	case c == esc:
		s.state = escaped
	case s.state == escaped && c == '[':
		s.state, s.sequence = control, s.sequence[:0]
	case s.state == escaped:
		if c == 'c' { // RIS
			s.modes = Modes{}
		}
		s.state = ground
		s.draw(append([]byte{esc}, p[:n]...))
	case c < ' ':
		s.draw(p[:1]) // a terminal obeys these within a sequence too
		if c == 0x18 || c == 0x1a {
			s.state = ground
		}
	case '@' <= c && c <= '~':
		if s.state == control {
			s.control(byte(c))
		}
		s.state = ground
	case c >= 0x7f:
		s.state = ground
	case len(s.sequence) == maxSequence:
		s.state = ignored
	default:
		s.sequence = append(s.sequence, byte(c))
	}
	return n
}

// control carries out a control sequence, or leaves it to the emulator. final is
// its last byte.
func (s *Screen) control(final byte) {
	params := string(s.sequence)
	if i := strings.IndexFunc(params, func(r rune) bool { return r < '0' }); i >= 0 {
		// Those with an intermediate byte set the form of the cursor and the
		// like. The emulator would take them for others.
		if params == "!" && final == 'p' { // DECSTR
			s.modes.AppCursor, s.modes.BracketedPaste = false, false
		}
		return
	}
	mark := byte(0)
	if params != "" && strings.IndexByte("<=>?", params[0]) >= 0 {
		mark, params = params[0], params[1:]
	}
	numbers := numbersOf(params)
	switch {
	case mark == '?' && (final == 'h' || final == 'l'):
		numbers = s.modes.set(numbers, final == 'h')
		if len(numbers) == 0 {
			return
		}
	case mark == '?' && (final == 'n' || final == 'c' || final == 'u'):
		return // questions of newer terminals: no answer is an answer
	case mark != 0 && mark != '?':
		return // the keyboard of newer terminals
	case final == 'c':
		if len(numbers) == 0 || numbers[0] == 0 {
			s.replies.WriteString("\x1b[?1;2c") // a VT100 with the advanced video option
		}
		return
	case final == 'b':
		s.repeat(numbers)
		return
	}
	if len(numbers) > 0 && (final == 'I' || final == 'Z') {
		numbers[0] = min(numbers[0], s.cols) // tabs, which the emulator makes one by one
	}
	for len(numbers) > 0 && numbers[len(numbers)-1] == 0 && final != 'm' {
		numbers = numbers[:len(numbers)-1] // the default, which is not 0 everywhere
	}
	out := append(make([]byte, 0, len(params)+8), esc, '[')
	if mark != 0 {
		out = append(out, mark)
	}
	for i, n := range numbers {
		if i > 0 {
			out = append(out, ';')
		}
		out = strconv.AppendInt(out, int64(n), 10)
	}
	s.draw(append(out, final))
}

// numbersOf returns the parameters of a sequence. An absent one is 0, which
// means the default, except that no parameter at all is none.
func numbersOf(params string) (numbers []int) {
	if params == "" {
		return nil
	}
	for p := range strings.SplitSeq(params, ";") {
		p, _, _ = strings.Cut(p, ":")
		n, err := strconv.Atoi(p)
		if err != nil {
			n = 0
			if p != "" {
				n = maxNumber
			}
		}
		numbers = append(numbers, min(n, maxNumber))
	}
	return numbers
}

// set records modes of the terminal, and returns the modes to pass to the emulator. The
// emulator would change the screen if it were told to leave the alternate screen while
// it did not show it.
func (m *Modes) set(modes []int, on bool) (known []int) {
	for _, mode := range modes {
		switch mode {
		case 1:
			m.AppCursor = on
		case 47, 1047, 1049:
			if m.Alternate == on {
				continue
			}
			m.Alternate = on
		case 2004:
			m.BracketedPaste = on
			continue
		}
		known = append(known, mode)
	}
	return known
}

// repeat prints the last rune some times more, at most a row of them.
func (s *Screen) repeat(numbers []int) {
	n := 1
	if len(numbers) > 0 {
		n = max(numbers[0], 1)
	}
	if s.printed != 0 {
		s.draw(bytes.Repeat(utf8.AppendRune(nil, s.printed), min(n, s.cols)))
	}
}
