package capture_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/headtail/plaintext"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
)

const maxText = 1 << 30

var noLimit = headtail.Limits{Bytes: -1, Line: -1}

// However the output is split into writes, a Stream makes the same text of it as a
// plaintext.Writer. Each byte 1 of the input stands for more than is written at once.
func FuzzStream(f *testing.F) {
	f.Add([]byte("a\rb\x01"), []byte{3})
	f.Add([]byte("a\x1b]0;b\n\x01"), []byte{6})
	f.Add([]byte("\x01\r\x01\x1b[2J\x01"), []byte{1, 1, 1, 1})
	f.Fuzz(func(t *testing.T, input, cuts []byte) {
		if len(input) > 2000 || len(cuts) > 200 {
			return
		}
		var writes [][]byte
		for _, n := range cuts {
			cut := min(int(n), len(input))
			writes = append(writes, input[:cut])
			input = input[cut:]
		}
		writes = append(writes, input)
		for i, p := range writes {
			writes[i] = bytes.ReplaceAll(p, []byte{1}, bytes.Repeat([]byte("x"), 5000))
		}
		var want bytes.Buffer
		w := plaintext.NewWriter(&want)
		_, _ = w.Write(slices.Concat(writes...)) // a Buffer never fails
		_ = w.Flush()
		all := headtail.New(maxText, 0)
		_, _ = all.Write(want.Bytes()) // never fails
		_ = all.Close()
		text, _ := all.Snapshot(0).Text(noLimit)

		s := newStream(capture.Options{Head: maxText})
		for _, p := range writes {
			s.Add(p)
		}
		s.End()
		page := s.Read(0, noLimit, nil)
		require.Equal(t, text, page.Text)
		require.EqualValues(t, want.Len(), page.Next)
	})
}

// However a text is cut, Live is the part of it that may still be redrawn.
func TestLive(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		s := newStream(capture.Options{Head: r.IntN(200), Tail: r.IntN(200)})
		s.Add([]byte(strings.Repeat("x", r.IntN(300)) + strings.Repeat("\xff", r.IntN(3)) + "\n" + strings.Repeat("x", 1+r.IntN(300))))
		s.Add([]byte("\r" + strings.Repeat("z", r.IntN(300)) + strings.Repeat("\xff", r.IntN(3))))
		page := s.Read(0, headtail.Limits{Bytes: 1 + r.IntN(500), Line: r.IntN(200)}, nil)
		before, live := page.Text[:len(page.Text)-page.Live], page.Text[len(page.Text)-page.Live:]
		require.NotContains(t, before, "z", "%q", page.Text)
		require.NotContains(t, live, "x", "%q", page.Text)
		s.End()
	}
}
