package capture_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/capture"
)

// matcher compiles a pattern.
func matcher(t testing.TB, pattern string) *capture.Matcher {
	t.Helper()
	m, err := capture.NewMatcher(pattern)
	require.NoError(t, err)
	return m
}

// What a stream shows at a mark is no match. The same prompt behind more text is
// one.
func TestWatchAfter(t *testing.T) {
	for name, tt := range map[string]struct {
		says string
		want bool
	}{
		"nothing":            {"", false},
		"drawn again":        {"\r> ", false},
		"typed, drawn again": {"one\r> ", false},
		"one line later":     {"\ngot\nx\r> ", true},
		"another text":       {"\r>> ", false},
	} {
		for _, pieces := range []int{1, 1 << 10} {
			s := newStream(capture.Options{Head: 1 << 20})
			s.Add([]byte("ready\nx\r> "))
			mark := s.Mark()
			first, later := matcher(t, "^> $"), matcher(t, "^> $")
			require.NoError(t, s.WatchAfter(t.Context(), first, mark))
			for p := []byte(tt.says); len(p) > 0; {
				n := min(pieces, len(p))
				s.Add(p[:n])
				p = p[n:]
			}
			require.NoError(t, s.WatchAfter(t.Context(), later, mark))
			require.Equal(t, tt.want, matched(first), "%s, watched before", name)
			require.Equal(t, tt.want, matched(later), "%s, watched after", name)
			require.Equal(t, tt.want, s.Read(mark.Offset, noLimit, first).Matched, name)
		}
	}
}
