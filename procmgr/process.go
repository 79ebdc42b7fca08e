package procmgr

import (
	"encoding/json"
	"time"

	"golang.org/x/xerrors"
)

// A State is where a process stands in its life.
type State string

const (
	// Running: the command's shell lives.
	Running State = "running"
	// Detached: the shell has exited, its exit code is known, and processes
	// that it started live on. Their output is still collected.
	Detached State = "detached"
	// Exited: nothing is left.
	Exited State = "exited"
)

// A Cause is why a process ended.
type Cause string

const (
	// CauseExit: it exited by itself.
	CauseExit Cause = "exit"
	// CauseSignal: a signal that did not come through this manager.
	CauseSignal Cause = "signal"
	// CauseRequest: Signal was called.
	CauseRequest Cause = "request"
	// CauseShutdown: the manager was closed.
	CauseShutdown Cause = "shutdown"
	// CauseLost: something else in the program reaped it, so that its exit
	// code cannot be known.
	CauseLost Cause = "lost"
)

// A Signal is what [Manager].Signal sends.
type Signal string

const (
	// Terminate asks everything that belongs to the process to end: SIGTERM.
	// On Windows, which has no way to ask, it ends it, and so does Interrupt.
	Terminate Signal = "terminate"
	// Interrupt is what Ctrl-C sends: SIGINT.
	Interrupt Signal = "interrupt"
	// Kill ends it, and repeats until nothing is left: SIGKILL.
	Kill Signal = "kill"
)

// check says what is wrong with a signal.
func (s Signal) check() error {
	switch s {
	case Terminate, Interrupt, Kill:
		return nil
	}
	return xerrors.Errorf("unknown signal %.40q, use terminate, interrupt or kill: %w", string(s), ErrInvalid)
}

// A Process is a snapshot of one process. In JSON the fields that are empty are
// left out, and times are RFC 3339.
type Process struct {
	ID         string `json:"id"`
	ChatID     string `json:"chat_id,omitempty"` // "" for one that the host itself started
	Command    string `json:"command"`
	WorkDir    string `json:"work_dir,omitempty"` // where it really runs, absolute
	Background bool   `json:"background,omitempty"`
	PID        int    `json:"pid,omitempty"` // of the shell; also its process group and session
	State      State  `json:"state"`
	ExitCode   *int   `json:"exit_code,omitempty"` // of the shell; nil until it is known; 128+n where signal n ended it
	Signal     string `json:"signal,omitempty"`    // such as "SIGKILL", where a signal ended the shell
	EndedBy    Cause  `json:"ended_by,omitempty"`  // "" while the shell runs
	// OOM is set where SIGKILL ended the shell or what it waited for, nobody
	// here had asked for it, and the kernel's counters show its out-of-memory
	// killer at work at that time: most likely it did. Linux only.
	OOM       bool      `json:"oom,omitempty"`
	StartedAt time.Time `json:"started_at,omitzero"`
	ExitedAt  time.Time `json:"exited_at,omitzero"` // when State became Exited; zero before
	Usage     Usage     `json:"usage,omitzero"`     // zero until the shell has exited, and if the system does not tell
	// LogPath is the file that has the whole output; "" where there is none.
	LogPath string `json:"log_path,omitempty"`
	// LogError says why the file has only the beginning of the output, such as
	// a full disk; "" where it has all.
	LogError string `json:"log_error,omitempty"`
}

// Usage is what the shell, and the children that it waited for, have used. In
// JSON its times are strings such as "1.5s".
type Usage struct {
	User, System time.Duration // CPU time
	// MaxRSS is the peak memory of the largest single process in bytes. It is
	// 0 where the system does not tell: Linux tells only what exceeds the peak
	// of the program that runs the manager, see wait4(2). Windows tells the
	// memory that was committed.
	MaxRSS int64
}

// usageJSON is the form of a Usage in JSON.
type usageJSON struct {
	User   string `json:"user"`
	System string `json:"system"`
	MaxRSS int64  `json:"max_rss,omitempty"`
}

// MarshalJSON implements [json.Marshaler].
func (u Usage) MarshalJSON() ([]byte, error) {
	return json.Marshal(usageJSON{User: u.User.String(), System: u.System.String(), MaxRSS: u.MaxRSS})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (u *Usage) UnmarshalJSON(data []byte) error {
	var form usageJSON
	if err := json.Unmarshal(data, &form); err != nil {
		return xerrors.Errorf("procmgr: usage: %w", err)
	}
	user, err := time.ParseDuration(form.User)
	if err != nil {
		return xerrors.Errorf("procmgr: usage: user: %w", err)
	}
	system, err := time.ParseDuration(form.System)
	if err != nil {
		return xerrors.Errorf("procmgr: usage: system: %w", err)
	}
	*u = Usage{User: user, System: system, MaxRSS: form.MaxRSS}
	return nil
}
