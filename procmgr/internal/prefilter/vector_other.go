//go:build !amd64

package prefilter

// vectors is 0: masks.index does not work.
const vectors = 0

func (m *masks) index(p []byte) int { panic("not called") }
