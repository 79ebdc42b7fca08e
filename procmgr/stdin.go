package procmgr

// A Stdin says which stdin a process gets.
type Stdin string

const (
	// StdinEmpty: nothing to read, so that no command can wait for an answer.
	StdinEmpty Stdin = ""
	// StdinPipe: a pipe, to which [Manager].Input writes. It is open until
	// Input or the end of the process closes it.
	StdinPipe Stdin = "pipe"
	// StdinTerminal: a terminal of its own with 120 columns and 40 rows, on which [Manager].Input types, and
	// to which stdout and stderr go. The environment policy's variables that keep
	// programs from asking are left out, and TERM is screen-256color, unless
	// the policy's Set or the request has a TERM. A chat has at most 64
	// terminals; beyond that, Start is [ErrLimit].
	//
	// As at any terminal, "server &" ends together with its shell, because the
	// kernel sends SIGHUP to it. setsid, nohup, set -m and trap '' HUP prevent
	// that.
	StdinTerminal Stdin = "terminal"
)
