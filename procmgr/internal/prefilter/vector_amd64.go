package prefilter

import "golang.org/x/sys/cpu"

// hasVectors reports whether masks.index works.
var hasVectors = cpu.X86.HasAVX2

// mostUnread is how many bytes at the end of a text index does not look at.
const mostUnread = 34

// index returns the first place of p at which a run may begin. If it finds
// none, it returns the first place at which it did not look: mostUnread bytes
// or fewer are behind it.
func (m *masks) index(p []byte) int {
	if len(p) <= mostUnread {
		return 0
	}
	return indexAVX2(&p[0], len(p), m)
}

//go:noescape
func indexAVX2(p *byte, n int, m *masks) int
