//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package screen

// Break makes the emulator of a screen panic at its next write.
func Break(s *Screen) { s.emulator = broken{s.emulator} }

type broken struct{ emulator }

func (broken) Write([]byte) (int, error) { panic("boom") }
