package osproc

// A Listen is a TCP socket on which a member of a tree listens.
type Listen struct {
	Network string // "tcp4" or "tcp6"
	Addr    string // HOST:PORT, with an IPv6 address in brackets
	Port    int
	PID     int // of the member; of several with the same socket, the lowest
}
