package headtail

import "unicode/utf8"

// A Snapshot is a copy of the bytes that a [Buffer] held at one moment, from
// one offset of the stream on. It shares no memory with the Buffer and never
// changes by itself.
//
// Always, From + len(Head) + Gap + len(Tail) == Total.
//
// If nothing is missing, Gap is 0 and all bytes are in Head, however the Buffer
// stored them: Tail is used only after a gap. A Snapshot that was built by hand
// may use both without a gap, and [Snapshot.Text] then reads them as one
// stream.
//
// If bytes are missing, no rune is split. Gap then also counts the first bytes
// of a rune at the end of the bytes before the gap, and up to 3 continuation
// bytes at the start of the bytes after it.
type Snapshot struct {
	From  int64  // the offset that the caller asked for, clamped into [0, Total]
	Head  []byte // the kept bytes from From on, before the gap
	Gap   int64  // number of bytes that were dropped between Head and Tail
	Tail  []byte // the kept bytes after the gap
	Total int64  // the offset to ask from next
}

// Snapshot returns a copy of the kept bytes from the stream offset from on. A
// negative offset counts as 0, and an offset beyond the end counts as the end.
// If the byte at from was dropped, Head is empty and Gap counts the missing
// bytes from there on. If from lies within a rune and the rest of that rune is
// kept, the Snapshot starts with that rest: only the caller can know which
// bytes of the rune it has.
//
// Until [Buffer.Close], if the stream ends in the first bytes of a rune (at
// most 3), they are left for the next Snapshot. Snapshot.Total therefore never
// lies within a rune, and may be smaller than [Buffer.Total].
func (b *Buffer) Snapshot(from int64) Snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()

	end := b.total
	if !b.closed {
		end -= int64(incomplete(b.last[:]))
	}
	from = min(max(from, 0), end)
	s := Snapshot{From: from, Total: end}

	headEnd := min(int64(len(b.head)), end)
	tailStart := b.total - int64(len(b.tail.buf))
	if from >= tailStart || tailStart == headEnd || headEnd == end {
		s.Head = b.slice(from, end)
		return s
	}
	headEnd -= int64(incomplete(b.head))
	s.Tail = b.slice(b.runeStart(tailStart, end), end)
	if from < headEnd {
		s.Head = b.slice(from, headEnd)
	}
	s.Gap = end - from - int64(len(s.Head)) - int64(len(s.Tail))
	return s
}

// slice returns a copy of the stream's bytes from offset i up to, but without,
// offset j. The Buffer must hold all of them. If there are none, slice returns
// nil.
func (b *Buffer) slice(i, j int64) []byte {
	if i >= j {
		return nil
	}
	p := make([]byte, 0, j-i)
	if n := int64(len(b.head)); i < n {
		p = append(p, b.head[i:min(j, n)]...)
		i = n
	}
	if i < j {
		start := b.total - int64(len(b.tail.buf))
		p = b.tail.appendTo(p, int(i-start), int(j-start))
	}
	return p
}

// runeStart returns the offset i, moved past the continuation bytes of a rune
// that was cut there. The offset i must be the first one of the tail.
func (b *Buffer) runeStart(i, end int64) int64 {
	for k := 0; k < utf8.UTFMax-1 && i < end && !utf8.RuneStart(b.tail.at(k)); k++ {
		i++
	}
	return i
}
