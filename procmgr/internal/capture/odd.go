package capture

import "bytes"

const (
	// usualRun is how many lines have the same verdict before another is odd.
	usualRun = 32
	// maxOdd is how many lines in a row are odd. More begin something else.
	maxOdd = 3
)

// oddities finds lines whose verdict is not that of the many like them around,
// such as one "differs" among a thousand "ok". A verdict is the last word of a
// line that has a letter and no digit.
type oddities struct {
	verdict, label []byte // of the lines before
	run            int    // how many have that verdict
	odd            []odd  // since the last of them
}

// An odd is a line between two offsets; its verdict ends at hit.
type odd struct{ begin, end, hit int }

// next looks at the next line of p. It returns the lines before it that have
// turned out to be odd.
func (o *oddities) next(p []byte, begin, end int, v verdict) []odd {
	from, to := lastVerdict(p, begin, end)
	word := p[from:to]
	switch {
	case len(word) == 0:
	case o.run > 0 && bytes.Equal(word, o.verdict):
		o.run++
		if len(o.odd) > 0 {
			found := o.odd
			o.odd = nil
			return found
		}
	case o.run >= usualRun && len(o.odd) < maxOdd && bytes.HasPrefix(p[begin:end], o.label):
		if v.weight < told {
			o.odd = append(o.odd, odd{begin, end, to})
		}
	default:
		n := begin
		for n < from && isLetter(p[n]) {
			n++
		}
		o.verdict, o.label, o.run, o.odd = word, p[begin:n], 1, nil
	}
	return nil
}

// lastVerdict returns the begin and the end of the verdict of a line.
func lastVerdict(p []byte, begin, end int) (from, to int) {
	begin = max(begin, end-maxLook)
	for to = end; to > begin; to = from {
		for to > begin && (p[to-1] == ' ' || p[to-1] == '\t' || p[to-1] == '\n' || p[to-1] == '\r') {
			to--
		}
		letter, digit := false, false
		for from = to; from > begin && p[from-1] != ' ' && p[from-1] != '\t'; from-- {
			c := p[from-1]
			letter = letter || c|0x20 >= 'a' && c|0x20 <= 'z'
			digit = digit || c >= '0' && c <= '9'
		}
		if letter && !digit {
			return from, to
		}
	}
	return begin, begin
}
