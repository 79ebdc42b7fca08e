package plaintext_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail/plaintext"
)

func seeds(f *testing.F, add func(stream string)) {
	f.Helper()
	for _, tests := range [][]test{sequenceTests, lineTests, moveTests, textTests} {
		for _, tt := range tests {
			add(tt.in)
		}
	}
}

func FuzzWriter(f *testing.F) {
	seeds(f, func(stream string) { f.Add(stream, uint16(0), uint16(0)) })
	f.Add("a\r\x1b]b\x1b[31mc\n", uint16(5), uint16(4090))
	f.Fuzz(func(t *testing.T, stream string, at, n uint16) {
		// Fuzzing would hardly find a stream longer than the limit by itself.
		if len(stream) > 0 {
			i := int(at) % len(stream)
			stream = stream[:i] + strings.Repeat(stream[i:i+1], int(n)%(limit+10)) + stream[i:]
		}
		checkText(t, stream)
	})
}

func FuzzSplit(f *testing.F) {
	seeds(f, func(stream string) { f.Add(stream, []byte{1, 2, 3, 0, 4}) })
	f.Fuzz(checkSplit)
}

// Fuzzing takes long to find streams in which all cases meet.
func TestRandomStreams(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		stream := randomStream(r)
		checkText(t, stream)
		splits := make([]byte, r.IntN(40))
		most := 1 + r.IntN(40)
		for i := range splits {
			splits[i] = byte(r.IntN(most))
		}
		checkSplit(t, stream, splits)
	}
}

func randomStream(r *rand.Rand) string {
	parts := []string{
		"\r", "\n", "a", " ", "10%", "\x1b", "\x1b[", "\x1b]", "0", ";", "m", "\x1b[G", "\x1b[1G", "\x1b[31m",
		"\r\n", "\x1b]0;t\a", "\x1bP", "\x1b\\", "\a", "\x18", "\x1b(B", "é", "\x9b", "\x00", "\b", "\x7f", "G",
		"\b\b", "\x1b[3D", "\x1b[3C", "\x1b[90C", "\x1b[H",
	}
	r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	parts = parts[:1+r.IntN(len(parts))]
	var b strings.Builder
	for range r.IntN(60) {
		part := parts[r.IntN(len(parts))]
		if r.IntN(100) == 0 {
			part = strings.Repeat(part, limit/len(part)+r.IntN(3)-1)
		}
		b.WriteString(part)
	}
	return b.String()
}

// checkText checks the text of a stream that comes in one write.
func checkText(t *testing.T, stream string) {
	t.Helper()
	text := clean(t, stream)
	require.Equal(t, text, clean(t, bytewise(stream)...), "byte by byte")
	require.NotContains(t, text, "\r")
	require.LessOrEqual(t, len(text), 2*(len(stream)+80*strings.Count(stream, "C")))
	require.Equal(t, text, clean(t, text), "plain text has nothing that could be cleaned")
}

// bytewise returns the bytes of a stream, each as a part of its own.
func bytewise(stream string) (parts []string) {
	for i := range len(stream) {
		parts = append(parts, stream[i:i+1])
	}
	return parts
}

// checkSplit writes the stream in parts as long as splits says, and the rest in
// one part. After each write, the text so far must be the text of the stream so
// far.
func checkSplit(t *testing.T, stream string, splits []byte) {
	t.Helper()
	var out strings.Builder
	w := plaintext.NewWriter(&out)
	done := 0
	for i := 0; i == 0 || done < len(stream); i++ {
		n := len(stream) - done
		if i < len(splits) {
			n = min(n, int(splits[i]))
		}
		_, err := w.Write([]byte(stream[done : done+n]))
		require.NoError(t, err)
		done += n
		require.Equal(t, clean(t, stream[:done]), out.String()+string(w.Pending()), "after %q", stream[:done])
	}
}
