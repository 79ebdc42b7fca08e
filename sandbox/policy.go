package sandbox

// A Policy says what commands may do. The zero value lets them write in a temporary
// directory of the box alone. A path may be relative to the program's current
// directory. It is resolved once, by New.
type Policy struct {
	// Write has the directories below which commands may write. If one is below
	// another, the other counts. A directory that does not exist is
	// [procmgr.ErrInvalid].
	Write []string
	// Protect has files and directories below Write that they may not write all the
	// same, such as .git/hooks and .git/config. Boundary alone can do that.
	Protect []string
	// Hide has files and directories that they can neither read nor list. Boundary
	// alone can do that.
	Hide []string
	// Network is what they reach of the network.
	Network Network
	// Level is the means by which the policy is enforced.
	Level Level
}

// A Network says what commands reach of the network.
type Network int

const (
	// AllNetwork is the network of the host.
	AllNetwork Network = iota
	// NoNetwork is none. With Accidents there is no loopback either. With Boundary
	// a box has a loopback of its own.
	NoNetwork
)

// A Level is the means by which a policy is enforced.
type Level int

const (
	// Accidents are rules of the kernel for each command, Landlock and seccomp. They
	// need no other program. They stop what goes wrong, and not a command that wants
	// to get out: see the table of [New].
	Accidents Level = iota
	// Boundary are namespaces, by the program bubblewrap.
	Boundary
)
