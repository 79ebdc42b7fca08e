//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd || windows)

package policy

// flush does nothing: what was typed before a question may answer it here.
func flush(uintptr) {}
