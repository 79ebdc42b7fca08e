package headtail_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
)

func TestSnapshotFrom(t *testing.T) {
	const stream = "abcdefghij" // head abcd, gap efg, tail hij
	tests := []struct {
		name string
		from int64
		want headtail.Snapshot
	}{
		{"negative", -5, headtail.Snapshot{Head: []byte("abcd"), Gap: 3, Tail: []byte("hij"), Total: 10}},
		{"start", 0, headtail.Snapshot{Head: []byte("abcd"), Gap: 3, Tail: []byte("hij"), Total: 10}},
		{"in the head", 3, headtail.Snapshot{From: 3, Head: []byte("d"), Gap: 3, Tail: []byte("hij"), Total: 10}},
		{"where the gap starts", 4, headtail.Snapshot{From: 4, Gap: 3, Tail: []byte("hij"), Total: 10}},
		{"in the gap", 6, headtail.Snapshot{From: 6, Gap: 1, Tail: []byte("hij"), Total: 10}},
		{"where the tail starts", 7, headtail.Snapshot{From: 7, Head: []byte("hij"), Total: 10}},
		{"in the tail", 9, headtail.Snapshot{From: 9, Head: []byte("j"), Total: 10}},
		{"end", 10, headtail.Snapshot{From: 10, Total: 10}},
		{"beyond the end", 11, headtail.Snapshot{From: 10, Total: 10}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := headtail.New(4, 3)
			write(t, b, stream)
			require.Equal(t, tt.want, b.Snapshot(tt.from))
		})
	}
}

func TestSnapshotCutsBetweenRunes(t *testing.T) {
	tests := []struct {
		name       string
		head, tail int
		stream     string
		from       int64
		want       headtail.Snapshot
	}{
		{"both ends of the gap", 5, 5, "abc€defgh€ijk", 0, headtail.Snapshot{Head: []byte("abc"), Gap: 11, Tail: []byte("ijk"), Total: 17}},
		{"gap within one rune", 2, 1, "a😀", 0, headtail.Snapshot{Head: []byte("a"), Gap: 4, Total: 5}},
		{"whole runes stay", 4, 4, "a€bcd€e", 0, headtail.Snapshot{Head: []byte("a€"), Gap: 3, Tail: []byte("€e"), Total: 11}},
		{"nothing dropped, rune spans both", 2, 2, "a€", 0, headtail.Snapshot{Head: []byte("a€"), Total: 4}},
		{"four stray bytes cannot be one rune", 1, 5, "abc\x80\x80\x80\x80z", 0, headtail.Snapshot{Head: []byte("a"), Gap: 5, Tail: []byte("\x80z"), Total: 8}},
		{"invalid bytes are no beginning", 3, 1, "ab\xffcd", 0, headtail.Snapshot{Head: []byte("ab\xff"), Gap: 1, Tail: []byte("d"), Total: 5}},
		{"from where the cut rune of the head was", 5, 5, "abc€defgh€ijk", 4, headtail.Snapshot{From: 4, Gap: 10, Tail: []byte("ijk"), Total: 17}},
		{"from where the cut rune of the tail was", 5, 5, "abc€defgh€ijk", 13, headtail.Snapshot{From: 13, Head: []byte("\xacijk"), Total: 17}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := headtail.New(tt.head, tt.tail)
			write(t, b, tt.stream)
			require.Equal(t, tt.want, b.Snapshot(tt.from))
		})
	}
}

func TestSnapshotLeavesAnIncompleteRune(t *testing.T) {
	tests := []struct {
		name       string
		head, tail int
		stream     string
		held       int // bytes held back until Close
	}{
		{"none", 10, 10, "abc", 0},
		{"complete", 10, 10, "ab€", 0},
		{"one byte", 10, 10, "ab\xe2", 1},
		{"two bytes", 10, 10, "ab\xe2\x82", 2},
		{"three bytes", 10, 10, "ab\xf0\x9f\x98", 3},
		{"nothing else", 10, 10, "\xf0\x9f\x98", 3},
		{"spans head and tail", 4, 10, "abc\xf0\x9f\x98", 3},
		{"of no rune", 10, 10, "ab\xff", 0},
		{"surrogate half", 10, 10, "ab\xed\xa0", 0},
		{"overlong", 10, 10, "ab\xe0\x80", 0},
		{"beyond the last rune", 10, 10, "ab\xf4\x90", 0},
		{"continuation bytes alone", 10, 10, "ab\x82\x82", 0},
		{"more than the tail holds", 1, 1, "abc\xf0\x9f\x98", 3},
		{"no tail", 1, 0, "abc\xe2\x82", 2},
		{"nothing kept", 0, 0, "abc\xe2\x82", 2},
		{"head ends where it starts", 3, 0, "abc\xe2\x82", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := headtail.New(tt.head, tt.tail)
			for i := range len(tt.stream) {
				write(t, b, tt.stream[i:i+1])
			}
			total := int64(len(tt.stream))
			require.Equal(t, total, b.Total())

			s := b.Snapshot(total)
			require.Equal(t, headtail.Snapshot{From: total - int64(tt.held), Total: total - int64(tt.held)}, s)
			text, _ := b.Snapshot(0).Text(headtail.Limits{})
			if tt.held > 0 {
				require.NotContains(t, text, "\uFFFD")
			}

			require.NoError(t, b.Close())
			require.Equal(t, total, b.Snapshot(0).Total)
		})
	}
}

func TestPagesJoin(t *testing.T) {
	const stream = "a€😀b\xffc€"
	b := headtail.New(100, 100)
	var got, text string
	var next int64
	for i := range len(stream) {
		write(t, b, stream[i:i+1])
		s := b.Snapshot(next)
		got += string(s.Head)
		page, cut := s.Text(headtail.Limits{})
		require.Nil(t, cut)
		text += page
		next = s.Total
	}
	require.Equal(t, stream, got)
	require.Equal(t, "a€😀b\uFFFDc€", text)
}

func TestSnapshotSharesNoMemory(t *testing.T) {
	b := headtail.New(4, 4)
	write(t, b, "abcdefghijkl")
	s := b.Snapshot(0)
	write(t, b, "mnop")
	require.Equal(t, "abcd", string(s.Head))
	require.Equal(t, "ijkl", string(s.Tail))
	clear(s.Head)
	clear(s.Tail)
	require.Equal(t, headtail.Snapshot{Head: []byte("abcd"), Gap: 8, Tail: []byte("mnop"), Total: 16}, b.Snapshot(0))
}
