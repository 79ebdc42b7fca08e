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
	// CauseLost: another part of the program reaped the leader, so that its
	// exit code cannot be known.
	CauseLost Cause = "lost"
)

// A Signal is a signal that [Manager].Signal can send.
type Signal string

const (
	// Terminate asks all members of the process to end: SIGTERM, and SIGCONT
	// for those that are stopped. Windows has no way to ask: there Terminate
	// and Interrupt end all members at once.
	Terminate Signal = "terminate"
	// Interrupt is the signal of Ctrl-C: SIGINT, and SIGCONT for those that are
	// stopped.
	Interrupt Signal = "interrupt"
	// Kill ends all members, and repeats until nothing is left: SIGKILL.
	Kill Signal = "kill"
)

// A Process is a snapshot of one process. In JSON, empty fields are left out and
// times are RFC 3339.
type Process struct {
	ID         string `json:"id"`
	ChatID     string `json:"chat_id,omitempty"` // "" for one that the host itself started
	Command    string `json:"command"`
	WorkDir    string `json:"work_dir,omitempty"` // the directory in which it runs, absolute
	Background bool   `json:"background,omitempty"`
	Stdin      Stdin  `json:"stdin,omitempty"`
	PID        int    `json:"pid,omitempty"` // of the leader; also of its process group and session
	State      State  `json:"state"`
	// Waiting is a member that waits for input on its stdin or terminal, in an Output, in
	// a list and in an EventWaiting, if the output has been quiet for 200 ms. It is nil if
	// no member waits, or if that cannot be told.
	Waiting  *Waiting `json:"waiting,omitempty"`
	ExitCode *int     `json:"exit_code,omitempty"` // of the leader; nil until it is known; 128+n if signal n ended it
	// Signal is such as "SIGKILL", if a signal ended the leader. If a sandbox has a
	// program in front of the shell, and the signal ended the shell alone, it is "":
	// ExitCode is 128+n then, as if the shell had exited.
	Signal  string `json:"signal,omitempty"`
	EndedBy Cause  `json:"ended_by,omitempty"` // "" while the leader runs
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
