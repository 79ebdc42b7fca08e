package headtail_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
)

func gapMark(n int) string  { return fmt.Sprintf("\n\n... [omitted %d bytes] ...\n\n", n) }
func lineMark(n int) string { return fmt.Sprintf(" ... [omitted %d bytes] ... ", n) }

// whole returns a snapshot of stream with nothing dropped.
func whole(stream string) headtail.Snapshot {
	return headtail.Snapshot{Head: []byte(stream), Total: int64(len(stream))}
}

// gapped returns the snapshot of a stream that dropped gap bytes between head and tail.
func gapped(head string, gap int, tail string) headtail.Snapshot {
	return headtail.Snapshot{
		Head: []byte(head), Gap: int64(gap), Tail: []byte(tail),
		Total: int64(len(head) + gap + len(tail)),
	}
}

func TestTextThatFits(t *testing.T) {
	long := strings.Repeat("x", 5000)
	tests := []struct {
		name string
		s    headtail.Snapshot
		l    headtail.Limits
		want string
	}{
		{"nothing", whole(""), headtail.Limits{}, ""},
		{"a line", whole("a\n"), headtail.Limits{}, "a\n"},
		{"no trimming", whole("\n\n a \r\n\t\n"), headtail.Limits{}, "\n\n a \r\n\t\n"},
		{"exactly the limit", whole("abcdef"), headtail.Limits{Bytes: 6}, "abcdef"},
		{"a long line with room for it", whole(long), headtail.Limits{}, long},
		{"no limit", whole(strings.Repeat(long, 10)), headtail.Limits{Bytes: -1, Line: 1}, strings.Repeat(long, 10)},
		{"default limit", whole(strings.Repeat("x", headtail.DefaultTextLimit)), headtail.Limits{}, strings.Repeat("x", headtail.DefaultTextLimit)},
		{"invalid bytes", whole("a\xff\xe2\x82z\xed\xb2\x80\uFFFD"), headtail.Limits{}, "a\uFFFD\uFFFD\uFFFDz\uFFFD\uFFFD\uFFFD\uFFFD"},
		{"invalid bytes at the limit", whole("ab\xff"), headtail.Limits{Bytes: 5}, "ab\uFFFD"},
		{"head and tail without a gap", gapped("ab\xe2\x82", 0, "\xaccd"), headtail.Limits{}, "ab€cd"},
		{"tail alone", gapped("", 0, "cd"), headtail.Limits{}, "cd"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, cut := tt.s.Text(tt.l)
			require.Equal(t, tt.want, text)
			require.Nil(t, cut)
		})
	}
}

func TestTextThatIsCut(t *testing.T) {
	// Ten lines of ten bytes.
	lines := func(from, to int) string {
		var b strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, "line %04d\n", i)
		}
		return b.String()
	}
	x := func(n int) string { return strings.Repeat("x", n) }
	tests := []struct {
		name    string
		s       headtail.Snapshot
		l       headtail.Limits
		want    string
		omitted int
		lines   int
	}{
		{"gap", gapped("ab\n", 80, "yz\n"), headtail.Limits{}, "ab\n" + gapMark(80) + "yz\n", 80, 0},
		{"gap without a limit", gapped("ab", 80, "yz"), headtail.Limits{Bytes: -1, Line: -1}, "ab" + gapMark(80) + "yz", 80, 0},
		{"gap at the start", gapped("", 80, "yz"), headtail.Limits{}, gapMark(80) + "yz", 80, 0},
		{"gap at the end", gapped("ab", 80, ""), headtail.Limits{}, "ab" + gapMark(80), 80, 0},
		{"gap alone", gapped("", 80, ""), headtail.Limits{}, gapMark(80), 80, 0},
		{"gap and invalid bytes", gapped("a\xff", 80, "\xffz"), headtail.Limits{}, "a\uFFFD" + gapMark(80) + "\uFFFDz", 80, 0},
		{"gap and a long line that fits", gapped(x(300), 80, "z"), headtail.Limits{Bytes: 400, Line: 64}, x(300) + gapMark(80) + "z", 80, 0},
		{
			"a long line", whole("first\n" + x(1000) + "\nlast\n"), headtail.Limits{Bytes: 900, Line: 100},
			"first\n" + x(35) + lineMark(930) + x(35) + "\nlast\n", 930, 1,
		},
		{
			"the last line, unterminated", whole("first\n" + x(996) + "done"), headtail.Limits{Bytes: 900, Line: 100},
			"first\n" + x(35) + lineMark(930) + x(31) + "done", 930, 1,
		},
		{
			"line at its limit", whole(x(100) + "\n" + x(101) + "\n"), headtail.Limits{Bytes: 202, Line: 100},
			x(100) + "\n" + x(35) + lineMark(30) + x(36) + "\n", 30, 1,
		},
		{
			"line limits have a least", whole(x(1000)), headtail.Limits{Bytes: 900, Line: 1},
			x(17) + lineMark(966) + x(17), 966, 1,
		},
		{
			"lines on both sides of a gap", gapped("a\n"+x(200), 50, x(200)+"\nz"), headtail.Limits{Bytes: 300, Line: 64},
			"a\n" + x(17) + lineMark(165) + x(18) + gapMark(50) + x(17) + lineMark(165) + x(18) + "\nz", 380, 2,
		},
		{
			"middle, at line ends", whole(lines(0, 100)), headtail.Limits{Bytes: 135},
			lines(0, 5) + gapMark(900) + lines(95, 100), 900, 0,
		},
		{
			"middle, around the gap", gapped(lines(0, 50), 1000, lines(150, 200)), headtail.Limits{Bytes: 135},
			lines(0, 5) + gapMark(1900) + lines(195, 200), 1900, 0,
		},
		{
			"short beginning leaves its room to the end", gapped(lines(0, 1), 980, lines(50, 100)), headtail.Limits{Bytes: 135},
			lines(0, 1) + gapMark(1390) + lines(91, 100), 1390, 0,
		},
		{
			"short end leaves its room to the beginning", gapped(lines(0, 50), 490, lines(99, 100)), headtail.Limits{Bytes: 135},
			lines(0, 9) + gapMark(900) + lines(99, 100), 900, 0,
		},
		{
			"middle, where a line is whole but for its end", whole(lines(0, 100)), headtail.Limits{Bytes: 130},
			strings.TrimSuffix(lines(0, 5), "\n") + gapMark(911) + lines(96, 100), 911, 0,
		},
		{
			"middle, at line ends already", whole(lines(0, 100)), headtail.Limits{Bytes: 132},
			lines(0, 5) + gapMark(900) + lines(95, 100), 900, 0,
		},
		{
			"middle, where line ends cost too much", whole("ab\n" + x(1000) + "\nyz"), headtail.Limits{Bytes: 134, Line: -1},
			"ab\n" + x(48) + gapMark(904) + x(48) + "\nyz", 904, 0,
		},
		{
			"middle, where no line ends", whole(x(1000)), headtail.Limits{Bytes: 134, Line: -1},
			x(51) + gapMark(898) + x(51), 898, 0,
		},
		{
			"middle, between runes", whole(strings.Repeat("€", 400)), headtail.Limits{Bytes: 135, Line: -1},
			strings.Repeat("€", 17) + gapMark(1098) + strings.Repeat("€", 17), 1098, 0,
		},
		{
			"middle, of invalid bytes", whole(strings.Repeat("\xff", 400)), headtail.Limits{Bytes: 135, Line: -1},
			strings.Repeat("\uFFFD", 17) + gapMark(366) + strings.Repeat("\uFFFD", 17), 366, 0,
		},
		{
			"middle takes line markers with it", whole(x(200) + "\n" + x(200) + "\n" + x(200) + "\n"), headtail.Limits{Bytes: 80, Line: 64},
			x(17) + gapMark(567) + x(18) + "\n", 567, 0,
		},
		{"marker gives way", whole(x(40) + "0123456789"), headtail.Limits{Bytes: 40}, x(30) + "0123456789", 10, 0},
		{"marker gives way to whole runes", whole(x(40) + "€€€"), headtail.Limits{Bytes: 8}, "€€", 43, 0},
		{"marker gives way, behind a gap", gapped(x(40), 10, "0123456789"), headtail.Limits{Bytes: 40}, "0123456789", 50, 0},
		{"marker gives way, before a gap", gapped("0123456789", 10, ""), headtail.Limits{Bytes: 4}, "6789", 16, 0},
		{"less than a rune", whole("a€"), headtail.Limits{Bytes: 2}, "", 4, 0},
		{"one byte", whole("abc"), headtail.Limits{Bytes: 1}, "c", 2, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, cut := tt.s.Text(tt.l)
			require.Equal(t, tt.want, text)
			require.NotEmpty(t, cut.Cuts) // checkText compares them with the text
			cut.Cuts = nil
			require.Equal(t, &headtail.Truncation{
				OriginalBytes:  tt.s.Total,
				RetainedBytes:  tt.s.Total - int64(tt.omitted),
				OmittedBytes:   int64(tt.omitted),
				TruncatedLines: tt.lines,
				Strategy:       "head_tail",
			}, cut)
			if tt.l.Bytes > 0 {
				require.LessOrEqual(t, len(text), tt.l.Bytes)
			}
		})
	}
}

// The last line is the one that a model needs most. A full buffer and the
// default limits are enough to lose it, because the marker has to fit in as
// well.
func TestLastLineSurvivesTheDefaults(t *testing.T) {
	b := headtail.New(headtail.DefaultHead, headtail.DefaultTail)
	write(t, b, "$ make\n")
	for i := range 10_000 {
		write(t, b, fmt.Sprintf("compiling %d\n", i))
	}
	write(t, b, "make: *** [all] Error 2")
	text, cut := b.Snapshot(0).Text(headtail.Limits{})
	require.True(t, strings.HasPrefix(text, "$ make\ncompiling 0\n"), text[:40])
	require.True(t, strings.HasSuffix(text, "compiling 9999\nmake: *** [all] Error 2"))
	require.LessOrEqual(t, len(text), headtail.DefaultTextLimit)
	require.Greater(t, len(text), headtail.DefaultTextLimit-200)
	require.Equal(t, 1, strings.Count(text, "omitted"))
	require.Equal(t, b.Total(), cut.OriginalBytes)
}

func TestTextLeavesTheSnapshotAlone(t *testing.T) {
	s := gapped("ab\xff\n"+strings.Repeat("x", 500), 10, strings.Repeat("y", 500)+"\xff\n")
	want := gapped(string(s.Head), 10, string(s.Tail))
	first, _ := s.Text(headtail.Limits{Bytes: 100, Line: 64})
	again, _ := s.Text(headtail.Limits{Bytes: 100, Line: 64})
	require.Equal(t, first, again)
	require.Equal(t, want, s)
}

func TestTextAllocations(t *testing.T) {
	line := strings.Repeat("0123456789", 6) + "abc\n"
	full := strings.Repeat(line, headtail.DefaultHead/len(line))
	long := strings.Repeat("x", 10_000) + "\n"
	tests := []struct {
		name string
		s    headtail.Snapshot
	}{
		{"whole", whole(full + full)},
		{"head and tail", gapped(full, 0, full)},
		{"gap", gapped(full, 1000, full)},
		{"gap and long lines", gapped(full+long, 1000, full+long)},
		{"too long", whole(full + full + full)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := testing.AllocsPerRun(100, func() { tt.s.Text(headtail.Limits{}) })
			require.LessOrEqual(t, n, 3.0)
		})
	}
}
