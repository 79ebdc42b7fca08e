package procmgr

// A Socket is a TCP socket on which a process listens.
type Socket struct {
	// Addr is HOST:PORT, as in "127.0.0.1:3000" or "[::]:3000". It is meant in
	// the network namespace of the process, which may be a sandbox's own.
	Addr string `json:"addr"`
	// PID is the member that has the socket; of several, the one with the
	// lowest number. A member whose descriptors the manager may not read, such
	// as one of another user, is not known to have any.
	PID int `json:"pid"`
}
