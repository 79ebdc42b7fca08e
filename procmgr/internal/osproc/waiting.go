package osproc

// A Waiting is a member of a tree that waits for input.
type Waiting struct {
	PID     int
	Program string // its name, which it can change
	Secret  bool   // it has turned the echo of the terminal off, and reads lines
}
