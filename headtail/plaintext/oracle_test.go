package plaintext_test

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail/plaintext"
)

// limit is the limit that the package documents.
const limit = 4096

// kinds matches each kind of sequence without its last byte, which comes next.
var kinds = regexp.MustCompile(`^\x1b(?:(\[[ -?]*)|(\][^\x07\x18\x1a\x1b\r\n]*)|([PX^_][^\x18\x1a\x1b\r\n]*)|([ -/]*))`)

// A step is a byte of text, or a move of the cursor by so many columns to the right; away
// is one to another row.
type step struct {
	text byte
	move int
}

const away = 1 << 20

var firstColumn = regexp.MustCompile(`^\[0*1?$`)

var moves = regexp.MustCompile(`^\x1b\[(\d*)$`)

// oracle returns the text of a whole stream, computed in the simplest way.
func oracle(stream string) string {
	var steps []step
	add := func(text string) {
		for i := range len(text) {
			steps = append(steps, step{text: text[i]})
		}
	}
	for stream != "" {
		text, _, _ := strings.Cut(stream, "\x1b")
		add(text)
		stream = stream[len(text):]
		m := kinds.FindStringSubmatch(stream)
		if m == nil {
			break
		}
		body, next := m[0], ""
		stream = stream[len(body):]
		if stream != "" {
			next = stream[:1]
		}
		switch {
		case len(body) >= limit:
			stream = body[limit:] + stream
			add(body[:limit])
		case next == "\x1b":
		case next == "\x18", next == "\x1a",
			m[1] != "" && next >= "@" && next <= "~",
			m[2] != "" && next == "\x07",
			m[1]+m[2]+m[3] == "" && next >= "0" && next <= "~":
			stream = stream[1:]
			if next == "G" && firstColumn.MatchString(m[1]) {
				add("\r")
			}
			if m[1] != "" && strings.Contains("ABEFHdf", next) {
				steps = append(steps, step{move: away})
			}
			if by := moves.FindStringSubmatch(body); by != nil && (next == "C" || next == "D") {
				n, err := strconv.Atoi("0" + by[1])
				if err != nil || n > limit {
					n = limit
				}
				n = max(n, 1)
				if next == "D" {
					n = -n
				}
				steps = append(steps, step{move: n})
			}
		default:
			add(body)
		}
	}
	var lines []string
	begin := 0
	for i, s := range steps {
		if s.move == 0 && s.text == '\n' {
			lines = append(lines, oracleLine(steps[begin:i]))
			begin = i + 1
		}
	}
	return strings.Join(append(lines, oracleLine(steps[begin:])), "\n")
}

// oracleStates returns the states of a line.
func oracleStates(line []step) (states []string) {
	var now []byte // the last of them
	at, gone := 0, false
	end := func(rest []byte) {
		states, now = append(states, string(now)), append([]byte(nil), rest...)
	}
	text := func(b byte) {
		if at < len(now) && now[at] != b {
			end(now[:at])
		}
		if at == len(now) {
			now = append(now, b)
		}
		at++
	}
	back := func(columns int) {
		for range columns {
			_, n := utf8.DecodeLastRune(now[:at])
			at -= n
		}
	}
	for _, s := range line {
		moves := s.move < 0 || s.move == 0 && s.text == '\b'
		fixed := moves && (len(now) > limit || bytes.IndexByte(now, 0x1b) >= 0)
		switch {
		case s.move == away:
			at, gone = len(now), true
		case s.move > 0:
			beyond := 0
			for range s.move {
				_, n := utf8.DecodeRune(now[at:])
				if at += n; n == 0 {
					beyond++
				}
			}
			for range min(beyond, 80) {
				text(' ')
			}
		case moves && !fixed && !gone:
			back(max(-s.move, 1))
		case s.move < 0 || moves && !fixed:
		case s.text == '\r':
			end(nil)
			at, gone = 0, false
		default:
			text(s.text)
		}
	}
	return append(states, string(now))
}

func oracleLine(line []step) string {
	states := oracleStates(line)
	text, first, newest := states[0], states[0], ""
	for _, state := range states[1:] {
		switch {
		case isBlank(state):
		case isBlank(first):
			text, first = text+state, state
		case len(state) > limit:
			text, first, newest = text+"\n"+state, state, ""
		default:
			newest = state
		}
	}
	if newest != "" && newest != first {
		text += "\n" + newest
	}
	return text
}

func isBlank(state string) bool {
	return len(state) <= limit && strings.IndexFunc(state, func(r rune) bool { return r > ' ' && r != 0x7f || r == 0x1b }) < 0
}

// clean returns the text of a stream that comes in parts. It checks the text
// after each part.
func clean(t testing.TB, parts ...string) string {
	t.Helper()
	var out strings.Builder
	w := plaintext.NewWriter(&out)
	for _, part := range parts {
		p := []byte(part)
		n, err := w.Write(p)
		require.NoError(t, err)
		require.Equal(t, len(part), n)
		require.Equal(t, part, string(p), "what is written belongs to the caller")
		clear(p) // the Writer must not refer to it any more
	}
	text := out.String() + string(w.Pending())
	require.NoError(t, w.Flush())
	require.Equal(t, text, out.String(), "Pending is what Flush writes")
	require.Nil(t, w.Pending())
	return text
}
