//go:build !amd64

package prefilter

// hasVectors reports whether masks.index works.
const hasVectors = false

func (m *masks) index(p []byte) int { panic("not called") }
