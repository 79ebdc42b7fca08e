// Package sockets tells on which TCP sockets processes listen. It knows a process by
// its number alone. Only Linux tells the sockets.
package sockets

// A Listen is a TCP socket on which a process listens.
type Listen struct {
	Addr string // HOST:PORT, with an IPv6 address in brackets
	Port int
	PID  int // of the process; of several with the same socket, the lowest
}
