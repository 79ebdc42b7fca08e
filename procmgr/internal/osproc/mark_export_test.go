//go:build linux

package osproc

// SetRandomMark has the marks of this program begin with these random bits. It is
// called before the first tree is started.
func SetRandomMark(r uint64) { randomMark = func() uint64 { return r } }
