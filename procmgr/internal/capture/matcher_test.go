package capture_test

import (
	"strings"
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

// Text that was held back is not lost if much comes at once after it.
func TestHeldBackBeforeMuch(t *testing.T) {
	much := strings.Repeat("x", 5000)
	tests := []struct{ name, held, then, want string }{
		{"a progress line", "a\rb", much, "a\nb" + much},
		{"a sequence that is none", "a\033]0;b", "\n" + much, "a\033]0;b\n" + much},
		{"an ESC alone", "a\033", "ä" + much, "a\033ä" + much},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStream(capture.Options{Head: 1 << 20})
			m := matcher(t, "a|b")
			require.NoError(t, s.Watch(t.Context(), m, 0))
			s.Add([]byte(tt.held))
			require.True(t, matched(m))
			s.Add([]byte(tt.then))
			s.End()
			require.Equal(t, tt.want, s.Read(0, noLimit, nil).Text)
		})
	}
}

// Output that is dropped while a search goes on has been searched. For a search
// that begins later it has not.
func TestSearchOfDroppedOutput(t *testing.T) {
	s := newStream(capture.Options{Head: 100, Tail: 100, Raw: true})
	first, later := matcher(t, "never"), matcher(t, "never")
	require.NoError(t, s.Watch(t.Context(), first, 0))
	for range 100 {
		s.Add([]byte(strings.Repeat("hay\n", 1000)))
	}
	require.NoError(t, s.Watch(t.Context(), later, 0))
	require.Zero(t, s.Read(0, noLimit, first).Unsearched)
	require.Equal(t, int64(400_000-200), s.Read(0, noLimit, later).Unsearched)
}
