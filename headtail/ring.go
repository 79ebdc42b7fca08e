package headtail

// A ring keeps the last size bytes that are written to it.
type ring struct {
	size int
	buf  []byte // grows up to size bytes, and is used as a ring from then on
	next int    // once buf is full: the index of the oldest byte, which the next byte replaces
}

func (r *ring) write(p []byte) {
	if len(p) >= r.size {
		// No old byte remains. So if buf has to grow, the old bytes need not be
		// moved.
		if r.size > 0 && len(p) > 0 {
			r.buf = grow(r.buf[:0], r.size, r.size)[:r.size]
			r.next = 0
			copy(r.buf, p[len(p)-r.size:])
		}
		return
	}
	if room := r.size - len(r.buf); room > 0 {
		k := min(room, len(p))
		r.buf = append(grow(r.buf, k, r.size), p[:k]...)
		p = p[k:]
	}
	for len(p) > 0 {
		k := copy(r.buf[r.next:], p)
		p = p[k:]
		if r.next += k; r.next == r.size {
			r.next = 0
		}
	}
}

// at returns the i-th of the kept bytes. The 0th is the oldest.
func (r *ring) at(i int) byte {
	if i += r.next; i >= len(r.buf) {
		i -= len(r.buf)
	}
	return r.buf[i]
}

// appendTo appends the kept bytes from the i-th up to, but without, the j-th to
// dst.
func (r *ring) appendTo(dst []byte, i, j int) []byte {
	old := r.buf[r.next:] // the rest wraps around
	if i < len(old) {
		dst = append(dst, old[i:min(j, len(old))]...)
	}
	if j > len(old) {
		dst = append(dst, r.buf[max(i-len(old), 0):j-len(old)]...)
	}
	return dst
}
