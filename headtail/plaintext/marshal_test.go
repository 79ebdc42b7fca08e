package plaintext_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail/plaintext"
)

// A Writer that is saved and restored between any two writes writes the text
// that it would have written otherwise.
func TestMarshal(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	parts := []string{"a", "bc ", "\r", "\n", "\r\n", "\x1b[1m", "\x1b[", "3", "1m", "\x1b]0;ti", "tle\x07", "\x1b", "(B", "€", "\x1b[1G", "50%", "\x18"}
	parts = append(parts, string(bytes.Repeat([]byte("x"), 5000)))
	for range 3000 {
		var plain, saved bytes.Buffer
		a, b := plaintext.NewWriter(&plain), plaintext.NewWriter(&saved)
		for range random.IntN(14) {
			part := []byte(parts[random.IntN(len(parts))])
			_, _ = a.Write(part)
			_, _ = b.Write(part)
			state, err := b.MarshalBinary()
			require.NoError(t, err)
			next := plaintext.NewWriter(&saved)
			require.NoError(t, next.UnmarshalBinary(state))
			clear(state) // it shares no memory with the Writer
			b = next
			require.Equal(t, a.Pending(), b.Pending())
		}
		require.NoError(t, a.Flush())
		require.NoError(t, b.Flush())
		require.Equal(t, plain.String(), saved.String())
	}
}

// Nothing but a state is taken, and a bad one changes nothing.
func FuzzUnmarshal(f *testing.F) {
	for _, text := range []string{"", "abc", "50%\r60", "\x1b]0;title"} {
		w := plaintext.NewWriter(new(bytes.Buffer))
		_, _ = w.Write([]byte(text))
		state, _ := w.MarshalBinary()
		f.Add(state)
		f.Add(state[:len(state)/2])
		f.Add(append(state, 0))
	}
	f.Fuzz(func(t *testing.T, state []byte) {
		w := plaintext.NewWriter(new(bytes.Buffer))
		_, _ = w.Write([]byte("10%\r20"))
		before := w.Pending()
		if w.UnmarshalBinary(state) != nil {
			require.Equal(t, before, w.Pending())
			return
		}
		for _, part := range []string{"m\x07", "\r30%\n", "x"} {
			_, err := w.Write([]byte(part))
			require.NoError(t, err)
		}
		require.NoError(t, w.Flush())
	})
}
