//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package screen_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/screen"
)

// shown returns the rows of a screen down to the last one with text.
func shown(s *screen.Screen) []string {
	rows := s.View().Rows
	for len(rows) > 0 && rows[len(rows)-1] == "" {
		rows = rows[:len(rows)-1]
	}
	return rows
}

func TestWrite(t *testing.T) {
	tests := []struct {
		name, in string
		rows     []string
		row, col int
		reply    string
	}{
		{name: "nothing"},
		{name: "lines", in: "one\r\ntwo  ", rows: []string{"one", "two"}, row: 1, col: 5},
		{name: "place", in: "\x1b[2;3Hx", rows: []string{"", "  x"}, row: 1, col: 3},
		{name: "an absent number is the default", in: "\n\n\x1b[;5Hx", rows: []string{"    x"}, col: 5},
		{name: "0 is the default", in: "abc\r\x1b[0P", rows: []string{"bc"}},
		{name: "erased", in: "abc\x1b[2Jd", rows: []string{"   d"}, col: 4},
		{name: "the alternate screen comes and goes", in: "a\x1b[?1049hb\x1b[?1049l", rows: []string{"a"}, col: 1},
		{name: "it is left where it is not shown", in: "a\x1b[?1049lb", rows: []string{"ab"}, col: 2},
		{name: "runes", in: "\u20ac\u00e9x", rows: []string{"\u20ac\u00e9x"}, col: 3},
		{name: "invalid bytes", in: "a\xffb\xe2c", rows: []string{"a\ufffdb\ufffdc"}, col: 5},
		{name: "a rune that a letter cuts off", in: "a\xe2\x82b", rows: []string{"a\ufffd\ufffdb"}, col: 4},
		{name: "a rune that a sequence cuts off", in: "caf\xe9\x1b[1m ok", rows: []string{"caf\ufffd ok"}, col: 7},
		{name: "a rune behind an ESC", in: "a\x1b\u20acb\u20ac", rows: []string{"ab\u20ac"}, col: 3},
		{name: "Latin-1 in columns", in: "caf\xe9 ok\r\ncafe ok\xe9\r\n", rows: []string{"caf\ufffd ok", "cafe ok\ufffd"}, row: 2},
		{name: "line drawing", in: "\x1b(0qx\x1b(B", rows: []string{"\u2500\u2502"}, col: 2},
		{name: "where the cursor is", in: "ab\r\n\x1b[6n", rows: []string{"ab"}, row: 1, reply: "\x1b[2;1R"},
		{name: "what the terminal is", in: "\x1b[c\x1b[0c", reply: "\x1b[?1;2c\x1b[?1;2c"},
		{name: "REP", in: "x\x1b[3b", rows: []string{"xxxx"}, col: 4},
		{name: "the keyboard of newer terminals", in: "\x1b[s\n\nab\x1b[>1u\x1b[<u\x1b[>4;2mc", rows: []string{"", "", "abc"}, row: 2, col: 3},
		{name: "the form of the cursor", in: "ab\x1b[2 qc", rows: []string{"abc"}, col: 3},
		{name: "a number that would keep it busy", in: "\x1b[2000000000I\x1b[99999999999999999999Zx", rows: []string{"x"}, col: 1},
		{name: "scrolled", in: "\x1b[2;3r\x1b[3;1Hc\nd", rows: []string{"", "c", " d"}, row: 2, col: 2},
		{name: "a title", in: "\x1b]0;title\x07x", rows: []string{"x"}, col: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for step := 1; step <= len(tt.in)+1; step++ { // any split of the output gives the same
				s, reply := screen.New(20, 4), ""
				for p := range slices.Chunk([]byte(tt.in), step) {
					reply += string(s.Write(p))
				}
				v := s.View()
				require.Len(t, v.Rows, 4)
				require.Equal(t, tt.rows, append([]string(nil), shown(s)...), "in pieces of %d", step)
				require.Equal(t, [2]int{tt.row, tt.col}, [2]int{v.Row, v.Col})
				require.Equal(t, tt.reply, reply)
			}
		})
	}
}

func TestModes(t *testing.T) {
	s := screen.New(20, 4)
	require.Zero(t, s.Modes())
	s.Write([]byte("\x1b[?1;2004h\x1b[?10"))
	require.Equal(t, screen.Modes{AppCursor: true, BracketedPaste: true}, s.Modes())
	s.Write([]byte("49h"))
	require.True(t, s.Modes().Alternate)
	s.Write([]byte("\x1b[?2004l\x1b[?1l\x1b[?1047l"))
	require.Zero(t, s.Modes())
	s.Write([]byte("\x1b[?1;2004h\x1bc"))
	require.Zero(t, s.Modes(), "a reset")
	s.Write([]byte("\x1b[1h\x1b[2004h\x1b[?$2004h"))
	require.Zero(t, s.Modes(), "others of the same number")
}

// If the emulator panics, it is dropped. The modes are still followed, and the
// program's questions that this package knows are still answered.
func TestPanic(t *testing.T) {
	s := screen.New(20, 4)
	s.Write([]byte("before"))
	screen.Break(s)
	s.Write([]byte("boom"))
	require.Nil(t, s.View())
	require.Equal(t, "\x1b[?1;2c", string(s.Write([]byte("more\x1b[?2004h\x1b[c"))))
	require.True(t, s.Modes().BracketedPaste)
}

// No output makes the screen panic, keeps it busy or changes its size. What it shows
// does not depend on how the output is split. A panic of the emulator leaves no view.
func FuzzWrite(f *testing.F) {
	for _, seed := range []string{
		"a\x1b[?1049h\x1b[2J\x1b[5;5Hx\x1b[?1049l", "\x1b[3;2r\x1b[9L\x1b[9M\x1b[9S\x1b[9T", "\x1b]0;t\x1b\\\x1bP1$r\x1b\\", "\xe2\x82\xac\xe2\x82",
		"\x1b[38;5;300m\x1b[48;2;1m\x1b[38;2m", "\x1b#8\x1bM\x1bD\x1bE\x1b7\x1b8\x1bH\x1b[3g\x1b[5I",
		"\x1b[9999S\x1b[9999T\x1b[9999b\x1b[99999999999999999999;99999999999999999999H\x1b[9999@", "\u754c\u0301\U0001f468\u200d\x1b[?1049l\x1b[?3h",
	} {
		f.Add([]byte(seed), uint8(3))
	}
	f.Fuzz(func(t *testing.T, p []byte, step uint8) {
		whole, pieces := screen.New(17, 5), screen.New(17, 5)
		whole.Write(p)
		for piece := range slices.Chunk(p, int(step)+1) {
			pieces.Write(piece)
		}
		v := whole.View()
		require.Equal(t, v, pieces.View())
		require.Equal(t, whole.Modes(), pieces.Modes())
		if v == nil {
			return // the emulator has panicked
		}
		require.Len(t, v.Rows, 5)
		for _, row := range v.Rows {
			require.True(t, utf8.ValidString(row))
			require.LessOrEqual(t, utf8.RuneCountInString(row), 17)
			require.False(t, strings.HasSuffix(row, " "))
		}
		require.True(t, 0 <= v.Row && v.Row < 5 && 0 <= v.Col && v.Col < 17)
	})
}
