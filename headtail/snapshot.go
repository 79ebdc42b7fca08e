package headtail

import "unicode/utf8"

// A Snapshot is a copy of what a [Buffer] held at one moment, from one offset
// of the stream on. It shares no memory with the Buffer and never changes by
// itself.
//
// Always, From + len(Head) + Gap + len(Tail) == Total.
//
// Where nothing is missing, Gap is 0, and all bytes are in Head, however they
// were stored: Tail is only in use where there is a gap before it. A Snapshot
// that was put together by hand may use both; [Snapshot.Text] reads them as one
// stream then.
//
// Where bytes are missing, no rune is torn: the first bytes of a rune at the end
// of what was kept before the gap, and up to 3 continuation bytes at the start
// of what was kept behind it, count into Gap.
type Snapshot struct {
	From  int64  // the offset asked for, clamped into [0, Total]
	Head  []byte // what is retained from From on, before the gap
	Gap   int64  // bytes that were dropped between Head and Tail
	Tail  []byte // what is retained after the gap
	Total int64  // the offset to ask from next
}

// Snapshot returns a copy of what is held from the stream offset from on. A
// negative offset is taken as 0, one beyond the end as the end. If from is
// where bytes are dropped already, Head is empty and Gap is what is missing from
// there on. If from is within a rune of which the rest is held, that rest is
// what comes back first: only the caller can know what it has of it.
//
// Until [Buffer.Close], the first bytes of a rune that may yet be completed (at
// most 3) are left for the next Snapshot. Snapshot.Total therefore never lies
// within a rune, and may be smaller than [Buffer.Total].
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

// slice returns a copy of the stream's bytes from offset i up to before offset
// j, all of which must be held; nil if there are none.
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

// runeStart returns the offset i, which must be the tail's first, moved past
// the continuation bytes of a rune that was cut there.
func (b *Buffer) runeStart(i, end int64) int64 {
	for k := 0; k < utf8.UTFMax-1 && i < end && !utf8.RuneStart(b.tail.at(k)); k++ {
		i++
	}
	return i
}
