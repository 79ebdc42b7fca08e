package procmgr

import "time"

// A State is the stage of its life that a process has reached.
type State string

const (
	// Running: the leader, the command's shell, lives.
	Running State = "running"
	// Detached: the leader has exited and its exit code is known, and other
	// members of the process live on. Their output is still collected.
	Detached State = "detached"
	// Exited: nothing is left.
	Exited State = "exited"
)

// A Cause tells why a process ended.
type Cause string

const (
	// CauseExit: the leader exited by itself.
	CauseExit Cause = "exit"
	// CauseSignal: a signal ended it that did not come from this manager.
	CauseSignal Cause = "signal"
	// CauseRequest: Signal was called.
	CauseRequest Cause = "request"
	// CauseShutdown: the manager was closed.
	CauseShutdown Cause = "shutdown"
	// CauseLifetime: the limit of its life ended it: StartRequest.MaxLifetime or the
	// manager's own.
	CauseLifetime Cause = "lifetime"
	// CauseLost: the exit code cannot be known, because another part of the program
	// reaped the leader, or because the keeper or manager that ran it died.
	CauseLost Cause = "lost"
)

// A Signal is a signal that [Manager].Signal can send.
type Signal string

const (
	// Terminate asks all members of the process to end: SIGTERM, and SIGCONT for
	// stopped members. Windows has no way to ask: there Terminate and Interrupt end all
	// members at once.
	Terminate Signal = "terminate"
	// Interrupt is the signal of Ctrl-C: SIGINT, and SIGCONT for stopped members.
	Interrupt Signal = "interrupt"
	// Kill ends all members, and repeats until nothing is left: SIGKILL.
	Kill Signal = "kill"
)

// A Process is a snapshot of one process. In JSON, empty fields are left out and
// times are RFC 3339.
type Process struct {
	ID      string `json:"id"`
	ChatID  string `json:"chat_id,omitempty"` // "" for one that the host itself started
	Command string `json:"command"`
	// WorkDir is the directory in which it runs, as an absolute path. A path that was
	// resolved is clean, see [path/filepath.Clean]; an absolute one is as the request named it.
	WorkDir    string `json:"work_dir,omitempty"`
	Background bool   `json:"background,omitempty"`
	Stdin      Stdin  `json:"stdin,omitempty"`
	// PID is the number of the leader, and also of its process group and session. No two
	// living processes of a Host on one machine have the same one.
	PID   int   `json:"pid,omitempty"`
	State State `json:"state"`
	// Waiting is a member that waits for input on its stdin or terminal, in an Output, in
	// a list and in an EventWaiting, if the output has been quiet for 200 ms. It is nil if
	// no member waits, or if that cannot be told.
	Waiting  *Waiting `json:"waiting,omitempty"`
	ExitCode *int     `json:"exit_code,omitempty"` // of the leader; nil until it is known; 128+n if signal n ended it
	// Signal is such as "SIGKILL", if a signal ended the leader. If a sandbox has a
	// program in front of the shell, and the signal ended the shell alone, it is "":
	// ExitCode is 128+n then, as if the shell had exited.
	Signal string `json:"signal,omitempty"`
	// EndedBy is "" while the leader runs. If Signal or a lifetime ends what is left of a
	// detached process, it becomes CauseRequest or CauseLifetime, and ExitCode stays.
	EndedBy Cause `json:"ended_by,omitempty"`
	// OOM reports that the kernel's out-of-memory killer ended the process, or a part
	// of it, before the leader exited, whatever the exit code: in a pipeline, that is
	// of the last command alone. Only a process that has a cgroup of its own with a
	// memory controller tells it.
	OOM       bool      `json:"oom,omitempty"`
	StartedAt time.Time `json:"started_at,omitzero"`
	ExitedAt  time.Time `json:"exited_at,omitzero"` // when State became Exited; zero before
	// MayLiveOn reports that State is Exited, and that a daemon of the process may live
	// on unseen: before Linux 6.12 it may have left its session and wiped its environment
	// before it was marked, or nothing can be looked for because /proc is unusable. It is
	// never set for a process that has a cgroup of its own.
	MayLiveOn bool `json:"may_live_on,omitempty"`
	// Elapsed is how long the process has run: until State became Exited, or until the
	// manager made this answer. Only the machine that runs the process can tell,
	// because the clock of another one may differ: do not subtract StartedAt from a
	// time of your own. In JSON it is in nanoseconds.
	Elapsed time.Duration `json:"elapsed_ns,omitempty"`
	// LogPath is the file with the whole output, "" if there is none.
	LogPath string `json:"log_path,omitempty"`
	// LogError says why the file has only the beginning of the output, for
	// example because the disk was full, or why there is none, for example
	// because a command has removed it. It is "" if the file has all of the
	// output.
	LogError string `json:"log_error,omitempty"`
}

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

// A Screen is the content of a terminal.
type Screen struct {
	// Rows are all rows of the terminal, from the top, without trailing
	// blanks.
	Rows []string `json:"rows"`
	// Row and Col are the cursor's place, counted from 0.
	Row int `json:"row"`
	Col int `json:"col"`
	// Alternate reports that the program shows its alternate screen, as
	// editors and pagers do.
	Alternate bool `json:"alternate,omitempty"`
}

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
	// the policy's Set or the request has a TERM.
	//
	// As at any terminal, "server &" ends together with its shell, because the
	// kernel sends SIGHUP to it. setsid, nohup, set -m and trap '' HUP prevent
	// that.
	StdinTerminal Stdin = "terminal"
)

// A Waiting says that a program of a process waits for input. The system has said so:
// nothing is concluded from silence or from output. If a Manager cannot tell, there is
// no Waiting.
//
// A proclocal.Local can tell on Linux for amd64 and arm64, and as long as it may trace
// the program, see ptrace(2). It may trace its own commands, but not a program of
// another user, nor one with a set-user-ID bit such as su, unless it is root itself. If
// kernel.yama.ptrace_scope is 1, it may not trace a member whose parent has ended, and
// with 2 or 3 none. Neither can be told of a program that may wait for something else as
// well: for a socket, for a child, or for another of its threads.
type Waiting struct {
	// Since is when that was seen first, less than a second after it began in most
	// cases.
	Since time.Time `json:"since"`
	// PID is the number of the program: of the leader, or of another member.
	PID int `json:"pid"`
	// Program is the name by which the system knows it, such as "bash", in at most
	// 64 bytes of printable text. A program can choose its name: it proves nothing.
	Program string `json:"program,omitempty"`
	// Secret reports that the echo of the terminal is off and that it collects lines,
	// as programs want it that ask for a password.
	Secret bool `json:"secret,omitempty"`
}
