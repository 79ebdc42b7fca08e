package headtail_test

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
)

// sanitized returns the text of a stream that fits.
func sanitized(stream []byte) string { return string([]rune(string(stream))) }

// unfinished returns how many bytes at the stream's end may still become a
// rune.
func unfinished(stream []byte) int {
	for i := range min(len(stream), utf8.UTFMax-1) {
		if !utf8.FullRune(stream[len(stream)-1-i:]) {
			return i + 1
		}
	}
	return 0
}

// torn reports whether offset i lies within a rune of the stream.
func torn(stream []byte, i int64) bool {
	var at int64
	for at < i {
		_, n := utf8.DecodeRune(stream[at:])
		at += int64(n)
	}
	return at > i
}

// expect computes the snapshot from the whole stream.
func expect(stream []byte, head, tail int, closed bool, from int64) headtail.Snapshot {
	end, start := len(stream), len(stream)-min(tail, len(stream))
	if !closed {
		end -= unfinished(stream)
	}
	at := int(min(max(from, 0), int64(end)))
	s := headtail.Snapshot{From: int64(at), Head: stream[at:end], Total: int64(end)}
	if head >= min(start, end) || at >= start {
		return s
	}
	stop := head - unfinished(stream[:head])
	for i := 0; i < 3 && start < end && !utf8.RuneStart(stream[start]); i++ {
		start++
	}
	s.Head, s.Tail = stream[at:max(at, stop)], stream[min(start, end):end]
	s.Gap = int64(end - at - len(s.Head) - len(s.Tail))
	return s
}

func FuzzBuffer(f *testing.F) {
	f.Add([]byte("hello, world"), []byte{1, 2, 30}, uint8(3), uint8(4), int16(2))
	f.Add([]byte("a€😀b\xffc€\xe2\x82"), []byte{1, 1, 1, 1, 1}, uint8(2), uint8(1), int16(0))
	f.Add([]byte("\x80\x80\x80\x80\xf0\x9f\x98"), []byte{0}, uint8(0), uint8(2), int16(-1))
	f.Fuzz(func(t *testing.T, stream, splits []byte, head, tail uint8, from int16) {
		checkBuffer(t, stream, splits, int(head), int(tail), int64(from))
	})
}

func TestBufferOfRandomWrites(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		stream := randomStream(r, 60)
		splits := make([]byte, r.IntN(60))
		most := 1 + r.IntN(40)
		for i := range splits {
			splits[i] = byte(r.IntN(most))
		}
		checkBuffer(t, stream, splits, r.IntN(40), r.IntN(40), int64(r.IntN(5+len(stream))-2))
	}
}

// checkBuffer writes the stream in parts as long as splits says, and the rest
// in one part. It checks the kept bytes after each write.
func checkBuffer(t *testing.T, stream, splits []byte, head, tail int, from int64) {
	t.Helper()
	b := headtail.New(head, tail)
	check := func(written []byte, closed bool, from int64) {
		s := b.Snapshot(from)
		want := expect(written, head, tail, closed, from)
		if s.From != want.From || s.Gap != want.Gap || s.Total != want.Total ||
			!bytes.Equal(s.Head, want.Head) || !bytes.Equal(s.Tail, want.Tail) {
			t.Fatalf("head %d, tail %d, from %d of %q:\ngot  %+v\nwant %+v", head, tail, from, written, s, want)
		}
		if s.From+int64(len(s.Head))+s.Gap+int64(len(s.Tail)) != s.Total || b.Total() != int64(len(written)) {
			t.Fatalf("does not add up: %+v of %d", s, b.Total())
		}
		if s.Gap > 0 && (len(s.Head) > 0 && torn(written, s.From+int64(len(s.Head))) ||
			len(s.Tail) > 0 && torn(written, s.Total-int64(len(s.Tail)))) {
			t.Fatalf("a rune is torn: %+v", s)
		}
		if !closed && torn(written, s.Total) {
			t.Fatalf("the end is within a rune: %+v", s)
		}
	}
	done := 0
	for i := 0; done < len(stream); i++ {
		n := len(stream) - done
		if i < len(splits) {
			n = min(n, int(splits[i]))
		}
		write(t, b, string(stream[done:done+n]))
		done += n
		check(stream[:done], false, from)
	}
	check(stream, false, int64(len(stream))-from)
	require.NoError(t, b.Close())
	check(stream, true, from)
}

var (
	anyMarker = regexp.MustCompile(`\n\n\.\.\. \[omitted (\d+) bytes\] \.\.\.\n\n| \.\.\. \[omitted (\d+) bytes\] \.\.\. `)
	repeats   = []int{1, 2, 10, 100}
)

func FuzzText(f *testing.F) {
	f.Add([]byte("hello, world\n"), uint8(3), uint16(50), uint16(50), int16(0), int16(90), int16(0))
	f.Add([]byte("a€😀b\xffc€\xe2\x82"), uint8(2), uint16(50), uint16(50), int16(3), int16(90), int16(70))
	f.Add([]byte("\x80\x80\x80\x80\xf0\x9f\x98\n"), uint8(2), uint16(500), uint16(0), int16(0), int16(-1), int16(-1))
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyz"), uint8(3), uint16(5000), uint16(500), int16(20), int16(200), int16(64))
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyz\n\n"), uint8(2), uint16(5000), uint16(500), int16(20), int16(20), int16(64))
	f.Fuzz(func(t *testing.T, stream []byte, repeat uint8, head, tail uint16, from, limit, line int16) {
		if bytes.Contains(stream, []byte("omitted")) {
			return // the test cannot tell these bytes from a marker
		}
		stream = bytes.Repeat(stream, repeats[int(repeat)%len(repeats)])
		checkText(t, stream, int(head), int(tail), int64(from), headtail.Limits{Bytes: int(limit), Line: int(line)})
	})
}

func TestTextOfRandomStreams(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		stream := randomStream(r, 1500)
		size := func() int { return r.IntN(1 + r.IntN(1+len(stream))) }
		checkText(t, stream, size(), size(), int64(size()/(1+r.IntN(3))), headtail.Limits{Bytes: 1 + size(), Line: r.IntN(330) - 30})
	}
}

// randomStream returns a stream of up to n parts. Fuzzing takes long to find
// streams that mix lines, runes and invalid bytes so that all cuts meet.
func randomStream(r *rand.Rand, n int) []byte {
	parts := []string{"a", "bc", "é", "€", "😀", "\n", "\xff", "\x80", "\xe2\x82", hole, "\uFFFD", "\xf0\x9f\x98", "\xe0\x80", "\xf4\x90"}
	var stream []byte
	kinds, width := 1+r.IntN(len(parts)), 1+r.IntN(300)
	for range r.IntN(n) {
		stream = append(stream, parts[r.IntN(kinds)]...)
		if r.IntN(width) == 0 {
			stream = append(stream, '\n')
		}
	}
	return stream
}

// hole is three invalid bytes. The package gives them a meaning of its own
// while it cuts.
const hole = "\xed\xb2\x80"

// checkText checks a text against the whole stream that it was made from.
func checkText(t *testing.T, stream []byte, head, tail int, from int64, l headtail.Limits) {
	t.Helper()
	b := headtail.New(head, tail)
	write(t, b, string(stream))
	s := b.Snapshot(from)
	stream = stream[:s.Total]
	text, cut := s.Text(l)

	most := l.Bytes
	if most == 0 {
		most = headtail.DefaultTextLimit
	}
	require.True(t, utf8.ValidString(text), "%q", text)
	if most > 0 {
		require.LessOrEqual(t, len(text), most)
	}
	complete := sanitized(stream[s.From:])
	fits := s.Gap == 0 && (most < 0 || len(complete) <= most)
	require.Equal(t, fits, cut == nil)
	if fits {
		require.Equal(t, complete, text)
		return
	}
	require.Equal(t, s.Total-s.From, cut.OriginalBytes)
	require.Equal(t, cut.OriginalBytes, cut.RetainedBytes+cut.OmittedBytes)
	require.Equal(t, "head_tail", cut.Strategy)

	if s.Gap == 0 || len(s.Tail) > 0 {
		end := sanitized(stream[s.From:])
		if s.Gap > 0 {
			end = sanitized(s.Tail)
		}
		for len(end) > max(min(most/8, 12), utf8.UTFMax) || most > 0 && len(end) > most {
			_, n := utf8.DecodeRuneInString(end)
			end = end[n:]
		}
		require.True(t, strings.HasSuffix(text, end), "%q does not end with %q", text, end)
	}
	require.Equal(t, replay(t, stream, s, text, cut), cut.Cuts)
	if s.Gap == 0 && l.Line < 0 && most >= 200 {
		require.Greater(t, len(text), most*3/5, "most of the room is used")
	}
	if cut.TruncatedLines > 0 {
		limit := max(l.Line, 64)
		if l.Line == 0 {
			limit = headtail.DefaultLineLimit
		}
		for line := range strings.Lines(text) {
			require.LessOrEqual(t, len(strings.TrimSuffix(line, "\n")), limit)
		}
	}
}

// replay walks through the stream as the text says. The bytes between two
// markers must be next in the stream, and a marker skips as many bytes as it
// says.
// It returns the parts that the markers skip.
func replay(t *testing.T, stream []byte, s headtail.Snapshot, text string, cut *headtail.Truncation) (cuts []headtail.Cut) {
	t.Helper()
	marks := anyMarker.FindAllStringSubmatchIndex(text, -1)
	if len(marks) == 0 {
		last := s.Head
		if len(s.Tail) > 0 {
			last = s.Tail
		}
		require.Less(t, len(text), 64, "no marker")
		require.True(t, strings.HasSuffix(sanitized(last), text), "%q is not the end of %q", text, last)
		return []headtail.Cut{{From: s.From, To: s.From + cut.OmittedBytes}}
	}
	at, retained, omitted, lines := s.From, int64(0), int64(0), 0
	follow := func(part string) {
		for _, r := range part {
			got, n := utf8.DecodeRune(stream[at:])
			require.Equal(t, got, r, "offset %d", at)
			at += int64(n)
			retained += int64(n)
		}
	}
	done := 0
	for _, m := range marks {
		require.True(t, done == 0 || m[0] > done, "two markers side by side: %q", text)
		follow(text[done:m[0]])
		if m[2] < 0 {
			m[2], m[3] = m[4], m[5]
			lines++
		}
		digits := text[m[2]:m[3]]
		line := text[m[0]] == ' '
		n, err := strconv.ParseInt(digits, 10, 64)
		require.NoError(t, err)
		require.Positive(t, n)
		omitted += n
		cuts = append(cuts, headtail.Cut{From: at, To: at + n, At: m[0], Len: m[1] - m[0], Line: line})
		at += n
		done = m[1]
	}
	follow(text[done:])
	require.Equal(t, s.Total, at)
	require.Equal(t, cut.RetainedBytes, retained)
	require.Equal(t, cut.OmittedBytes, omitted)
	require.Equal(t, cut.TruncatedLines, lines)
	require.LessOrEqual(t, len(marks)-lines, 1, "the middle is cut once")
	return cuts
}
