package headtail_test

import (
	"bytes"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
)

// write writes each of the parts, and fails the test if Write breaks its
// contract.
func write(t testing.TB, b *headtail.Buffer, parts ...string) {
	t.Helper()
	for _, p := range parts {
		n, err := b.Write([]byte(p))
		require.NoError(t, err)
		require.Equal(t, len(p), n)
	}
}

// TestBufferOfRandomWrites compares other sizes with an oracle.
func TestBufferSizes(t *testing.T) {
	tests := []struct {
		name       string
		head, tail int
		writes     []string
		want       headtail.Snapshot
	}{
		{"wrapping writes", 2, 5, []string{"abc", "defg", "hijk", "lm"}, headtail.Snapshot{Head: []byte("ab"), Gap: 6, Tail: []byte("ijklm"), Total: 13}},
		{"small, huge, small", 2, 3, []string{"a", strings.Repeat("-", 100) + "xyz", "12"}, headtail.Snapshot{Head: []byte("a-"), Gap: 101, Tail: []byte("z12"), Total: 106}},
		{"negative is 0", -1, math.MinInt, []string{"abc", "def"}, headtail.Snapshot{Gap: 6, Total: 6}},
		{"unbounded", math.MaxInt, math.MaxInt, []string{"abc", "def"}, headtail.Snapshot{Head: []byte("abcdef"), Total: 6}},
		{"unbounded tail", 0, math.MaxInt, []string{"abc", "def"}, headtail.Snapshot{Head: []byte("abcdef"), Total: 6}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := headtail.New(tt.head, tt.tail)
			write(t, b, tt.writes...)
			require.Equal(t, tt.want, b.Snapshot(0))
			require.Equal(t, tt.want.Total, b.Total())
		})
	}
}

func TestZeroBufferCounts(t *testing.T) {
	var b headtail.Buffer
	require.Equal(t, headtail.Snapshot{}, b.Snapshot(0))
	write(t, &b, "abc", "def")
	require.Equal(t, headtail.Snapshot{Gap: 6, Total: 6}, b.Snapshot(0))
	require.Equal(t, headtail.Snapshot{From: 6, Total: 6}, b.Snapshot(6))
	write(t, &b, "\xe2\x82")
	require.Equal(t, headtail.Snapshot{Gap: 6, Total: 6}, b.Snapshot(0))
	require.EqualValues(t, 8, b.Total())
	require.NoError(t, b.Close())
	require.Equal(t, headtail.Snapshot{Gap: 8, Total: 8}, b.Snapshot(0))
}

func TestWriteAfterClose(t *testing.T) {
	b := headtail.New(100, 0)
	require.NoError(t, b.Close())
	require.NoError(t, b.Close())
	write(t, b, "a\xe2\x82")
	require.Equal(t, headtail.Snapshot{Head: []byte("a\xe2\x82"), Total: 3}, b.Snapshot(0))
}

func TestWriteDoesNotAllocateOnceGrown(t *testing.T) {
	for _, size := range []int{1, 100, 4 << 10, 16 << 10, 32 << 10, 1 << 20} {
		b := headtail.New(headtail.DefaultHead, headtail.DefaultTail)
		p := make([]byte, size)
		write(t, b, strings.Repeat("x", headtail.DefaultHead+headtail.DefaultTail))
		n := testing.AllocsPerRun(100, func() { _, _ = b.Write(p) })
		require.Zero(t, n, "writes of %d bytes", size)
	}
}

func TestMemoryComesWithTheStream(t *testing.T) {
	const (
		window = 1 << 20
		noise  = window / 4 // bytes that the runtime may allocate meanwhile
	)
	allocated := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	line, chunk := []byte("a line of output\n"), make([]byte, 3*window)
	var b *headtail.Buffer
	// The sums include the slices that growing leaves to the garbage collector.
	// So each sum is a geometric series.
	require.Less(t, allocated(func() { b = headtail.New(window, window) }), uint64(noise))
	require.Less(t, allocated(func() { _, _ = b.Write(line) }), uint64(noise))
	require.Less(t, allocated(func() {
		for range 100_000 {
			_, _ = b.Write(line)
		}
	}), uint64(5*window))
	require.Less(t, allocated(func() { _, _ = b.Write(chunk) }), uint64(noise))

	b = headtail.New(window, window)
	require.Less(t, allocated(func() { _, _ = b.Write(chunk) }), uint64(2*window+noise), "grown at once")
	runtime.KeepAlive(b)
}

func TestConcurrentUse(t *testing.T) {
	const writers, lines = 4, 500
	b := headtail.New(1000, 1000)
	line := []byte("ünïcödé\n")
	var writing, reading sync.WaitGroup
	for range writers {
		writing.Go(func() {
			for range lines {
				_, _ = b.Write(line)
			}
		})
	}
	for range 2 {
		reading.Go(func() {
			var next int64
			for next < int64(writers*lines*len(line)) {
				s := b.Snapshot(next)
				if sum := s.From + int64(len(s.Head)) + s.Gap + int64(len(s.Tail)); sum != s.Total || s.From != next {
					t.Errorf("from %d: sum %d, %+v", next, sum, s)
					return
				}
				text, _ := s.Text(headtail.Limits{})
				if strings.ContainsRune(text, '\uFFFD') {
					t.Errorf("torn rune in %q", text)
					return
				}
				clear(s.Head)
				clear(s.Tail)
				next = s.Total
				_ = b.Total()
			}
		})
	}
	writing.Wait()
	reading.Wait()
	require.NoError(t, b.Close())
	s := b.Snapshot(0)
	require.True(t, bytes.HasPrefix(s.Head, line))
	require.True(t, bytes.HasSuffix(s.Tail, line))
	require.EqualValues(t, writers*lines*len(line), b.Total())
}

func TestBufferSharesNoMemory(t *testing.T) {
	b := headtail.New(4, 4)
	p := []byte("abcdefghijkl")
	_, err := b.Write(p)
	require.NoError(t, err)
	clear(p)
	s := b.Snapshot(0)
	write(t, b, "mnop")
	require.Equal(t, "abcd", string(s.Head))
	require.Equal(t, "ijkl", string(s.Tail))
	clear(s.Head)
	clear(s.Tail)
	require.Equal(t, headtail.Snapshot{Head: []byte("abcd"), Gap: 8, Tail: []byte("mnop"), Total: 16}, b.Snapshot(0))
}
