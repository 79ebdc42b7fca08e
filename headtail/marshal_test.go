package headtail_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
)

// carried returns a Buffer that goes on in the place of b.
func carried(t testing.TB, b *headtail.Buffer) *headtail.Buffer {
	t.Helper()
	state, err := b.MarshalBinary()
	require.NoError(t, err)
	next := headtail.New(0, 0)
	require.NoError(t, next.UnmarshalBinary(state))
	clear(state) // it shares no memory with the Buffer
	return next
}

// A Buffer that is saved and restored between any two writes keeps what it would
// have kept otherwise.
func TestMarshal(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	text := []byte("añ€😀\xff\n")
	for range 2000 {
		head, tail := random.IntN(12), random.IntN(12)
		plain, saved := headtail.New(head, tail), headtail.New(head, tail)
		for range random.IntN(12) {
			piece := bytes.Repeat(text, 3)[random.IntN(10):]
			piece = piece[:random.IntN(len(piece))]
			if random.IntN(8) == 0 {
				plain.Skip(int64(len(piece)))
				saved.Skip(int64(len(piece)))
			} else {
				_, _ = plain.Write(piece)
				_, _ = saved.Write(piece)
			}
			saved = carried(t, saved)
			from := random.Int64N(plain.Total() + 2)
			require.Equal(t, plain.Snapshot(from), saved.Snapshot(from))
			require.Equal(t, plain.Total(), saved.Total())
		}
		_ = saved.Close()
		_ = plain.Close()
		saved = carried(t, saved)
		require.Equal(t, plain.Snapshot(0), saved.Snapshot(0))
	}
}

// What Skip counts is missing, and what comes after it has its right offset.
func TestSkip(t *testing.T) {
	b := headtail.New(4, 4)
	_, _ = b.Write([]byte("ab"))
	b.Skip(-1)
	b.Skip(10)
	require.Equal(t, headtail.Snapshot{Head: []byte("ab"), Gap: 10, Total: 12}, b.Snapshot(0))
	_, _ = b.Write([]byte("cde"))
	require.Equal(t, headtail.Snapshot{Head: []byte("ab"), Gap: 10, Tail: []byte("cde"), Total: 15}, b.Snapshot(0))
	require.Equal(t, []byte("de"), b.Snapshot(13).Head)
	_, _ = b.Write([]byte("fg"))
	require.Equal(t, headtail.Snapshot{Head: []byte("ab"), Gap: 11, Tail: []byte("defg"), Total: 17}, b.Snapshot(0))
}

// Nothing but a state makes a Buffer, and a bad one changes nothing.
func FuzzUnmarshal(f *testing.F) {
	for _, text := range []string{"", "abc", "abcdefghijkl€"} {
		b := headtail.New(3, 4)
		_, _ = b.Write([]byte(text))
		state, _ := b.MarshalBinary()
		f.Add(state)
		f.Add(state[:len(state)/2])
		f.Add(append(state, 0))
	}
	f.Add([]byte("\x0100\x00\x0000\xcc\x00\x00")) // a rune has begun, of no bytes
	f.Fuzz(func(t *testing.T, state []byte) {
		b := headtail.New(3, 4)
		_, _ = b.Write([]byte("abcdefghijkl"))
		before := b.Snapshot(0)
		if b.UnmarshalBinary(state) != nil {
			require.Equal(t, before, b.Snapshot(0))
			return
		}
		s := b.Snapshot(0)
		require.Equal(t, s.Total, int64(len(s.Head)+len(s.Tail))+s.Gap)
		if b.Total() < 1<<40 {
			_, _ = b.Write([]byte("more"))
			_ = b.Snapshot(1)
		}
	})
}
