//go:build !linux

package prompt

// Supported reports whether a Reader can tell anything on this system.
const Supported = false

// A Reader can tell nothing here.
type Reader struct{}
