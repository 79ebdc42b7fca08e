package sandbox

// A Policy says what commands may do. The zero value lets them write in a temporary
// directory of the box alone. A path may be relative to the program's current
// directory. It is resolved once, by New.
type Policy struct {
	// Write has the directories below which commands may write. If one is below
	// another, the other counts. A directory that does not exist is
	// [procmgr.ErrInvalid].
	Write []string
	// Read has files and directories that commands with UnixSockets can read in addition to
	// the system's, and without UnixSockets the ones in /tmp that they can read. They read
	// everything else anyway.
	Read []string
	// Protect has directories below Write in which they may not write all the same, such
	// as .git. Boundary alone can do that. No part of the path is a symbolic link below
	// Write, which a command could replace.
	//
	// A file is [procmgr.ErrInvalid], because the rule would end while a command runs, as
	// soon as a program outside of the box puts another file in its place, like most
	// editors do. Only .git/config can be one: the rule begins again with the next command,
	// as it does for a directory that is itself replaced.
	Protect []string
	// Hide has directories that they can neither read nor list. Boundary alone can do
	// that. A file is ErrInvalid, as one of Protect is. Put it into a directory of its own
	// outside of Write, and a symbolic link in its place. For such a link, that directory
	// is hidden, and nothing is started once it is no link any more.
	Hide []string
	// UnixSockets lets commands of Boundary make and use Unix sockets; with Accidents they
	// always can. They then see the system's directories (/usr, /etc, /opt, /bin, /sbin,
	// /lib), Read and Write alone, and an empty /tmp, /run, /var/run and home of the box, so
	// that they reach the sockets below these.
	UnixSockets bool
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
	// nsenter and unshare of util-linux (2.34 or later) and env of GNU coreutils. It takes
	// Linux 6.15, or an older one
	// with its fix of Landlock, and user namespaces. If one is missing, the error of [New]
	// names its package. A command takes some milliseconds longer.
	//
	// A box has a /tmp, a /dev/shm, a network with NoNetwork, and IPC of its own, which
	// all its commands share: a server of one answers the next. Of the host's /tmp,
	// commands see what is below Write, and, only to be read, Read and the current
	// directory of this program. TMPDIR is /tmp, unless Write has that.
	//
	// Of two rules, the one for the inner path counts: a directory of Write below a
	// hidden one is there. A file that is protected or hidden and has another name
	// elsewhere, a hard link, is reached by that.
	//
	// Without UnixSockets, commands have no Unix sockets but pairs that are connected to
	// each other. [docs/security.md] names programs that do not work so.
	//
	// Commands have no capability, also as root: they can change no file of another user,
	// and make none theirs. As root they can change the mode of devices such as /dev/null,
	// which are the host's. They read the host's other files, and its /proc as any
	// other user does. An ordinary user's commands can lower the priority of
	// the user's other processes. Commands cannot write to /proc, /sys and devices, and
	// mount nothing, so no sandbox works within the box that mounts, such as bubblewrap.
	//
	// If signal n ends a shell, the exit code is 128+n, and [procmgr.Process].Signal is
	// "": it is a program in front of the shell that is waited for.
	//
	// [docs/security.md]: https://github.com/toolproc/toolproc/blob/main/docs/security.md
	Boundary
)
