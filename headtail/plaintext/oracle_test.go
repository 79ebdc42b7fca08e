package plaintext_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail/plaintext"
)

// limit is the limit that the package documents.
const limit = 4096

// kinds matches each kind of sequence without its last byte, which comes next.
var kinds = regexp.MustCompile(`^\x1b(?:(\[[ -?]*)|(\][^\x07\x18\x1a\x1b\r\n]*)|([PX^_][^\x18\x1a\x1b\r\n]*)|([ -/]*))`)

// oracle returns the text of a whole stream, computed in the simplest way.
func oracle(stream string) string {
	var b strings.Builder
	for stream != "" {
		text, _, _ := strings.Cut(stream, "\x1b")
		b.WriteString(text)
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
			b.WriteString(body[:limit])
		case next == "\x1b":
		case next == "\x18", next == "\x1a",
			m[1] != "" && next >= "@" && next <= "~",
			m[2] != "" && next == "\x07",
			m[1]+m[2]+m[3] == "" && next >= "0" && next <= "~":
			stream = stream[1:]
			if next == "G" && (m[1] == "[" || m[1] == "[0" || m[1] == "[1") {
				b.WriteByte('\r')
			}
		default:
			b.WriteString(body)
		}
	}
	lines := strings.Split(b.String(), "\n")
	for i, line := range lines {
		lines[i] = oracleLine(line)
	}
	return strings.Join(lines, "\n")
}

func oracleLine(line string) string {
	states := strings.Split(line, "\r")
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
