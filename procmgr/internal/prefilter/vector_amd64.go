package prefilter

import "golang.org/x/sys/cpu"

// vectors is how many places of a text masks.index can look at at once: 64, 32,
// or 0 if it does not work.
var vectors = func() int {
	switch {
	case cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VBMI: // a processor without VBMI runs slower for a while after it
		return 64
	case cpu.X86.HasAVX2:
		return 32
	}
	return 0
}()

// mostUnread and mostUnreadWide are how many bytes at the end of a text
// indexAVX2 and indexAVX512 do not look at.
const (
	mostUnread     = 34
	mostUnreadWide = 66
)

// index returns the first place of p at which a run may begin. If it finds
// none, it returns the first place at which it did not look: mostUnread bytes
// or fewer are behind it.
func (m *masks) index(p []byte) (i int) {
	if m.vectors == 64 && len(p) > mostUnreadWide {
		if i = indexAVX512(&p[0], len(p), m); len(p)-i > mostUnreadWide {
			return i
		}
	}
	if len(p)-i > mostUnread {
		i += indexAVX2(&p[i], len(p)-i, m)
	}
	return i
}

//go:noescape
func indexAVX2(p *byte, n int, m *masks) int

//go:noescape
func indexAVX512(p *byte, n int, m *masks) int
