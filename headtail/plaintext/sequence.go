package plaintext

// limit is how many bytes of a sequence, and of one state of a line, are held
// back at most. Titles, links and progress lines are far shorter. Anything
// longer is an image, or no terminal output at all.
const limit = 4 << 10

// These control characters begin or end a sequence.
const (
	bel = 0x07 // ends an OSC, as in xterm
	can = 0x18 // cancels a sequence
	sub = 0x1a // cancels a sequence
	esc = 0x1b // begins a sequence, and ends one that is open
)

// A state says which kind of sequence is open. The names come from ECMA-48.
type state uint8

const (
	ground       state = iota // none
	escape                    // ESC alone
	intermediate              // ESC and intermediate bytes, as in ESC ( B
	csi                       // ESC [
	osc                       // ESC ]
	str                       // DCS, SOS, PM or APC: ESC P, ESC X, ESC ^, ESC _
)

// A verdict says how a sequence has ended, or that it has not.
type verdict uint8

const (
	unended verdict = iota // the rest of it may come with the next write
	isText                 // it is no sequence
	isGone                 // it has ended, and leaves nothing
	isCSI                  // it is a CSI that has ended, and may move the cursor
)

// A sequence is the escape sequence that is open, if there is one.
type sequence struct {
	state  state
	buf    []byte // the part of it that came with earlier writes
	number int    // the parameter of a CSI
	other  bool   // the CSI has something else than one number
}

func (s *sequence) reset() { *s = sequence{buf: s.buf[:0]} }

// scan reads the bytes of p that belong to the open sequence. If none is open,
// p begins one. It returns the number of these bytes, and the verdict on the
// whole sequence.
//
// There is no state for ST, the end of a string. ST is ESC \: its ESC ends the
// string, as an ESC ends any sequence, and then ESC \ is a sequence of its own
// that is removed. So a sequence within another cannot leave a third behind.
func (s *sequence) scan(p []byte) (int, verdict) {
	most := min(len(p), limit-len(s.buf))
	n := 0
	if s.state == ground {
		s.state = escape
		n = 1
	}
	for ; n < most; n++ {
		c := p[n]
		if c < ' ' {
			switch c {
			case esc:
				return n, isGone
			case can, sub:
				return n + 1, isGone
			case '\r', '\n':
				return n, isText
			}
		}
		switch s.state {
		case escape:
			switch {
			case c == '[':
				s.state = csi
			case c == ']':
				s.state = osc
			case c == 'P' || c == 'X' || c == '^' || c == '_':
				s.state = str
			case isIntermediate(c):
				s.state = intermediate
			case isFinal(c):
				return n + 1, isGone
			default:
				return n, isText
			}
		case intermediate:
			switch {
			case isIntermediate(c):
			case isFinal(c):
				return n + 1, isGone
			default:
				return n, isText
			}
		case csi:
			switch {
			case '0' <= c && c <= '9':
				s.number = min(s.number*10+int(c-'0'), limit)
			case ' ' <= c && c <= '?':
				s.other = true
			case '@' <= c && c <= '~':
				return n + 1, isCSI
			default:
				return n, isText
			}
		case osc:
			if c == bel {
				return n + 1, isGone
			}
		}
	}
	if len(s.buf)+n == limit {
		return n, isText
	}
	return n, unended
}

func isIntermediate(c byte) bool { return ' ' <= c && c <= '/' }
func isFinal(c byte) bool        { return '0' <= c && c <= '~' }

// columns returns how far a CSI moves the cursor, or to which column. It is false if the
// CSI has another meaning, as one with a private mark has.
func (s *sequence) columns() (n int, ok bool) {
	return max(s.number, 1), !s.other // a terminal takes 0 for 1
}
