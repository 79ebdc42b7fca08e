package redact_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMaskRows(t *testing.T) {
	rows := func(text string, cols int) (rows []string) {
		for line := range strings.SplitSeq(text, "\n") {
			cells := []rune(line)
			for len(cells) > cols {
				rows, cells = append(rows, string(cells[:cols])), cells[cols:]
			}
			rows = append(rows, string(cells))
		}
		return rows
	}
	s := set(token)
	for _, cols := range []int{10, 13, 40, 80} {
		for _, before := range []string{"", "é", "TOKEN=", "a longer text in front of it: "} {
			text := before + token + "\nnext é\n"
			got := s.MaskRows(rows(text, cols), cols, 0, 0)
			joined := strings.ReplaceAll(strings.Join(got, "\n"), "\n", "")
			require.Contains(t, joined, "[withheld: A]---------------------------", "%d columns: %q", cols, got)
			require.NotContains(t, joined, "7c42", "%d columns", cols)
			want := strings.ReplaceAll(text, token, "[withheld: A]"+strings.Repeat("-", len(token)-13))
			require.Equal(t, strings.ReplaceAll(want, "\n", ""), joined)
			digits := hex.EncodeToString([]byte(token))
			got = s.MaskRows(rows(digits[:33]+"\n"+digits[33:], cols), cols, 0, 0)
			require.NotContains(t, strings.Join(got, ""), digits[30:33])
		}
	}
	require.Equal(t, []string{"$ [withhel"}, s.MaskRows([]string{"$ " + token[:8]}, 80, 0, 10))
	require.Equal(t, []string{"$ " + token[:7]}, s.MaskRows([]string{"$ " + token[:7]}, 80, 0, 9))
	require.Equal(t, []string{"$ " + token[:8]}, s.MaskRows([]string{"$ " + token[:8]}, 80, 0, 3), "the cursor is elsewhere")
	plain := []string{"a", "", "é b"}
	require.Equal(t, plain, s.MaskRows(plain, 80, 2, 1))
}
