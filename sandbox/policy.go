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
	// Boundary are namespaces, by the programs bwrap of bubblewrap (0.8 or later),
	// nsenter of util-linux and env of GNU coreutils. It takes Linux 6.15, or an older one
	// with its fix of Landlock, and user namespaces. If one is missing, the error of [New]
	// has the command that installs it. A command takes some milliseconds longer.
	//
	// A box has a /tmp, a /dev/shm, a network with NoNetwork, and IPC of its own, which
	// all its commands share: a server of one answers the next. Of the host's /tmp,
	// commands see what is below Write, and, only to be read, the current directory of
	// this program. TMPDIR is /tmp, unless Write has that.
	//
	// Of two rules, the one for the inner path counts: a directory of Write below a
	// hidden one is there. A file that is protected or hidden and has another name
	// elsewhere, a hard link, is reached by that.
	//
	// Commands have no capability, also as root: they can change no file of another user,
	// and make none theirs. They reach no Unix socket outside of Write, if it is older
	// than 200 ms when they start. They read the host's other files, and its /proc as any
	// other user does. An ordinary user's commands can lower the priority of
	// the user's other processes. Commands cannot write to /proc, /sys and devices, so no sandbox works
	// within the box that needs a user namespace.
	//
	// If signal n ends a shell, the exit code is 128+n, and [procmgr.Process].Signal is
	// "": it is a program in front of the shell that is waited for.
	Boundary
)
