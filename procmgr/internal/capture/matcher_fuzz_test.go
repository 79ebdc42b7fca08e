package capture_test

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
	"github.com/toolproc/toolproc/procmgr/internal/linediff"
	"github.com/toolproc/toolproc/procmgr/internal/randre"
)

// A piece is a part of a stream that has no gap.
type piece struct {
	at   int64
	text []byte
}

// A verdict is the result of a search.
type verdict struct {
	matched    bool
	line       string
	at         int64
	unsearched int64
}

// untilMatches is the oracle: it matches the visible text of a stream line by
// line. The text on both sides of a gap is no line.
func untilMatches(re *regexp.Regexp, from int64, pieces ...piece) (v verdict) {
	end := from
	for _, piece := range pieces {
		v.unsearched += piece.at - end
		end = piece.at + int64(len(piece.text))
		at := piece.at
		lines := bytes.Split(piece.text, []byte{'\n'})
		for i, whole := range lines {
			line := bytes.TrimSuffix(whole[:min(len(whole), 4096)], []byte{'\r'})
			unwritten := i == len(lines)-1 && len(whole) == 0
			if !unwritten && re.Match(line) {
				v.matched, v.at = true, at
				v.line = linediff.Excerpt(line, re.FindIndex(line)[0], 300)
				return v
			}
			v.unsearched += int64(max(len(whole)-4096, 0))
			at += int64(len(whole) + 1)
		}
	}
	return v
}

// checkUntil writes a stream in pieces. After some of them it watches the
// stream from an offset on. It compares each answer with the oracle's.
//
// Each piece has a multiple of unit bytes.
func checkUntil(t *testing.T, stream, cuts []byte, unit int, pattern string, head, tail int, from int64, before int) {
	re, err := regexp.Compile(pattern)
	if err != nil || pattern == "" || pattern == "." {
		return
	}
	m, err := capture.NewMatcher(pattern)
	if err != nil { // too long, too many instructions, or it wants a newline
		for line := range bytes.SplitSeq(stream, []byte{'\n'}) {
			require.False(t, strings.Contains(err.Error(), "can never match") && re.Match(line), "%q matches %q", pattern, line)
		}
		return
	}
	s := newStream(capture.Options{Head: head, Tail: tail, Raw: true})
	buf := headtail.New(head, tail) // its own package fuzzes it
	pieces := split(stream, cuts, unit)
	before = min(before, len(pieces))
	written := 0
	for _, p := range pieces[:before] {
		s.Add(p)
		_, _ = buf.Write(p)
		written += len(p)
	}
	seen := buf.Snapshot(from)
	require.NoError(t, s.Watch(t.Context(), m, from))

	kept, text := piece{seen.From, seen.Head}, piece{seen.Total - int64(len(seen.Tail)), seen.Tail}
	if seen.Gap == 0 {
		kept, text = piece{at: seen.From}, piece{seen.From, append(seen.Head, seen.Tail...)}
	}
	// The snapshot leaves out a rune that has not ended.
	more := max(seen.Total, min(from, int64(written)))
	if len(text.text) == 0 && seen.Gap == 0 {
		kept.at, text.at = more, more
	}
	want := untilMatches(re, kept.at, kept, text)
	text.text = append(text.text, stream[more:written]...)
	check := func() {
		if !want.matched {
			want = untilMatches(re, kept.at, kept, text)
		}
		require.Equal(t, want.matched, matched(m), "%q in %q and %q", pattern, kept.text, text.text)
	}
	check()
	for _, p := range pieces[before:] {
		s.Add(p)
		text.text = append(text.text, p...)
		check()
	}
	page := s.Read(0, headtail.Limits{}, m)
	got := verdict{page.Matched, page.Found.Line, page.Found.Offset, page.Unsearched}
	require.Equal(t, want, got, "%q in %q and %q", pattern, kept.text, text.text)
}

// split cuts a stream into pieces of the given lengths, in units. The last piece
// is the rest.
func split(stream, cuts []byte, unit int) (pieces [][]byte) {
	for _, n := range cuts {
		n := min(int(n)*unit, len(stream))
		pieces = append(pieces, stream[:n])
		stream = stream[n:]
	}
	return append(pieces, stream)
}

// FuzzUntil checks that a pattern is found in any split of a stream, and only
// if a line matches it that was visible at some moment.
func FuzzUntil(f *testing.F) {
	f.Add([]byte("listening on 80\r\n"), []byte{3, 9}, "on [0-9]+$", uint16(100), uint16(100), uint16(0), uint8(1), uint8(1))
	f.Add([]byte("a\n\nb"), []byte{1, 1, 1}, "^$", uint16(0), uint16(2), uint16(1), uint8(9), uint8(1))
	f.Add([]byte("zeile \xc3\xa4\xe2\x82\xac!\n"), []byte{7, 2, 1}, "€!", uint16(100), uint16(0), uint16(9), uint8(2), uint8(1))
	f.Add([]byte("x"+strings.Repeat("y", 4095)+"z\n"), []byte{255, 255}, "z$", uint16(9000), uint16(0), uint16(1), uint8(1), uint8(1))
	f.Add([]byte("\r\r\n"), []byte{1, 1}, "\\r$", uint16(4), uint16(4), uint16(0), uint8(0), uint8(1))
	f.Add([]byte(strings.Repeat("error: no\nready\n", 3000)), []byte{99, 80, 70}, "(?i)timeout|READY$", uint16(50), uint16(50), uint16(7), uint8(1), uint8(90))
	f.Fuzz(func(t *testing.T, stream, cuts []byte, pattern string, head, tail, from uint16, before, unit uint8) {
		if len(stream) > 64<<10 || len(cuts) > 200 {
			return
		}
		checkUntil(t, stream, cuts, int(unit), pattern, int(head), int(tail), int64(from), int(before))
	})
}

// Random patterns and streams of few different characters match often.
func TestUntilOfRandomPatterns(t *testing.T) { untilOfRandomPatterns(t, 8, 30_000) }

func TestHeldUntilOfRandomPatterns(t *testing.T) {
	testenv.Held(t)
	untilOfRandomPatterns(t, 9, testenv.Rounds(300_000, 4_000_000))
}

func untilOfRandomPatterns(t *testing.T, seed uint64, rounds int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	for range rounds {
		cuts := make([]byte, r.IntN(4))
		for i := range cuts {
			cuts[i] = byte(r.IntN(90))
		}
		text, head, tail, from := randre.Text(r, 60), 1<<20, 0, 0
		switch r.IntN(20) {
		case 0: // near to the longest line
			text = append(bytes.Repeat([]byte("x"), 4096-r.IntN(30)), text...)
		case 1, 2, 3, 4, 5: // with a gap
			head, tail, from = r.IntN(40), r.IntN(40), r.IntN(60)
		}
		checkUntil(t, text, cuts, 1, randre.Pattern(r, 3), head, tail, int64(from), r.IntN(4))
	}
}
