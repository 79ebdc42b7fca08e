package proclocal

import (
	"context"
	"log/slog"
	"maps"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// The defaults of [Options].
const (
	defaultRetain            = time.Hour
	defaultOutputMemory      = 64 << 20
	defaultMaxRunningPerChat = 64
	defaultMaxRunning        = 1024
	defaultStopGrace         = 5 * time.Second
	defaultMaxLog            = 64 << 20
	defaultMaxLogs           = 1 << 30
)

// Options configures a [Local]. The zero value of every field is its default. A
// negative number or duration is none of what the field names: no limit, no
// grace, no head.
//
// Hooks may be called from several goroutines at once. If a hook panics, the
// panic is logged and the hook is passed over.
type Options struct {
	// Env decides which of the host's variables a command gets. The zero value
	// passes all but secrets.
	Env envpolicy.Policy
	// Redact has values to mask in all output, in addition to the values of variables
	// that look like secrets to Env: see [Secret].
	Redact []Secret
	// UpdateEnv gets the ID of the chat, "" for the host's own processes, and the
	// variables that Env let through, as NAME=value, and returns the variables for the
	// command. A variable that it adds is not withheld. The variables of the request come
	// after it. If it fails, the error is logged and the variables that Env let through
	// are used.
	UpdateEnv func(chatID string, env []string) ([]string, error)
	// WorkDir is the directory for requests that name none, and the one against which a
	// relative directory of a request is resolved. A relative path is below this program's
	// current directory, and a ~ is the home of its user. If the directory cannot be used,
	// New and Start are [procmgr.ErrInvalid]. With "", commands run in the program's
	// current directory at that time, and Start is ErrInvalid if that has been removed.
	WorkDir string
	// PerChat returns the options in which the commands of a chat differ; nil is none.
	// It is called once for each process that is to start, before UpdateEnv, with the
	// context of that Start, and by Describe of a chat's Manager. chatID is "" for the
	// host's own processes. An error refuses the start: the error of Start wraps it, and
	// the model reads its text. It is refused too if PerChat panics.
	PerChat func(ctx context.Context, chatID string) (*ChatOptions, error)
	// Shell is the program and its arguments that stand before the command.
	// The default is "bash", "-c" if New finds a bash on PATH, else
	// "sh", "-c". Models write for bash, and another shell runs much of
	// that with another result and no error. On Windows the default is the
	// bash beside the sh on PATH, or beside the sh that comes with the git
	// on PATH, and never the bash of WSL. On Windows "cmd", "/d", "/s",
	// "/c" gets the command unchanged. Local.Describe names the shell. This
	// field is also the place for a niceness or another user:
	//
	//	[]string{"nice", "-n", "10", "bash", "-c"}
	//
	// If there is no such program, New is [procmgr.ErrInvalid]; with a Sandbox, Start is.
	//
	// The default bash reads no ~/.bashrc and no profile. Like every bash
	// that runs a script, it reads the file that the variable BASH_ENV
	// names. Env decides whether commands get that variable.
	Shell []string

	// Sandbox is what holds commands, nil for nothing: see [Sandbox].
	Sandbox Sandbox

	// Cgroup is a directory of a cgroup v2 file system that is delegated to this
	// program's user, "" for none. Each process then runs in a cgroup of its own below
	// that directory. A member cannot leave the cgroup without the right to move
	// processes. So all members are known, and Kill ends them all, even members that
	// left their session or wiped their environment. It costs some 5 % of a short
	// command, and more with controllers. If the directory cannot be used, New returns
	// an error that says why.
	//
	// New also ends the processes that an earlier Local in the same directory left
	// behind when its program was killed. Linux 5.14.
	Cgroup string

	// Head and Tail are how many bytes are kept of the beginning and of the
	// end of a process's output; 0 is headtail.DefaultHead and
	// headtail.DefaultTail.
	Head, Tail int

	// LogDir is a directory for logs, "" for none. The whole output of each
	// process is then written to a file as well. A model can search that file
	// for output that the window has dropped, and Output reads dropped output
	// from it. The files have mode 0600 and are in a directory of the Local's
	// own with mode 0700. A file is removed with its record, and all of them
	// by Close. On Unix, the next Local removes the files of a program that
	// was killed. LogDir is made if it does not exist. If others can write to
	// it and it is not sticky, the error is [procmgr.ErrInvalid]. If a log cannot be
	// written, as on a full disk, it ends there: its process goes on, and
	// Process.LogError says why.
	LogDir string
	// MaxLog is the limit of one log (64 MiB by default) and MaxLogs the limit of all
	// logs together (1 GiB by default), in bytes. To stay below MaxLogs, the oldest log
	// of an exited process is removed.
	MaxLog, MaxLogs int64

	// Retain is how long the record and the output of a process are kept after
	// its exit, as far as OutputMemory allows: 1 h by default.
	Retain time.Duration
	// OutputMemory is the limit of the output that is kept in memory, in bytes
	// of all processes together: 64 MiB by default. If it is exceeded, the
	// oldest records of exited processes are dropped. The output of a process
	// that still runs is never dropped; its limits are MaxRunning, Head and
	// Tail. The lengths of the commands count too. Beyond 16,384 records the
	// oldest are dropped, however small they are.
	OutputMemory int64
	// MaxRunningPerChat and MaxRunning limit the processes that have not exited: in one
	// chat (64 by default), and in all (1,024 by default). Beyond a limit, Start is
	// [procmgr.ErrLimit]. Processes that the host itself starts are in no chat. Exited
	// processes never count.
	MaxRunningPerChat, MaxRunning int

	// MaxLifetime ends every process that has run so long, also one whose request has no
	// [procmgr.StartRequest].MaxLifetime, or a longer one: none by default.
	MaxLifetime time.Duration
	// StopGrace is how long Close waits after Terminate before it kills, and the end of
	// a MaxLifetime too: 5 s by default.
	StopGrace time.Duration

	// OnStart is called before the Start that began the process returns, and
	// before OnExit. OnExit is called once, when a process has exited. Close
	// waits for both, so neither of them may call Close.
	OnStart, OnExit func(procmgr.Process)

	// Metrics is told of events, for counters and histograms; nil for none.
	Metrics *Metrics
	// Logger gets lines about the life of each process. Every line has
	// process_id and chat_id. No line has a command, its output or the value
	// of an environment variable. nil logs nothing.
	Logger *slog.Logger
}

// withDefaults returns a copy in which every field has its real value. No limit
// is the largest number.
func (o *Options) withDefaults() Options {
	var c Options
	if o != nil {
		c = *o
	}
	c.Env.Allow = slices.Clone(c.Env.Allow)
	c.Env.Exclude = slices.Clone(c.Env.Exclude)
	c.Env.IncludeOnly = slices.Clone(c.Env.IncludeOnly)
	c.Env.Set = maps.Clone(c.Env.Set)
	c.Shell = slices.Clone(c.Shell)
	c.Redact = slices.Clone(c.Redact)
	c.Metrics = c.Metrics.withDefaults()
	if len(c.Shell) == 0 {
		c.Shell = defaultShell(runtime.GOOS, osproc.LookShell)
	}
	c.Head = size(c.Head, headtail.DefaultHead)
	c.Tail = size(c.Tail, headtail.DefaultTail)
	c.Retain = bound(c.Retain, defaultRetain, math.MaxInt64)
	c.OutputMemory = bound(c.OutputMemory, defaultOutputMemory, math.MaxInt64)
	c.MaxRunningPerChat = bound(c.MaxRunningPerChat, defaultMaxRunningPerChat, math.MaxInt)
	c.MaxRunning = bound(c.MaxRunning, defaultMaxRunning, math.MaxInt)
	c.MaxLog = bound(c.MaxLog, defaultMaxLog, math.MaxInt64)
	c.MaxLogs = bound(c.MaxLogs, defaultMaxLogs, math.MaxInt64)
	c.MaxLifetime = bound(c.MaxLifetime, math.MaxInt64, math.MaxInt64)
	c.StopGrace = bound(c.StopGrace, defaultStopGrace, 0)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

func size(n, byDefault int) int { return bound(n, byDefault, 0) }

// bound returns v, or the default for 0, or none for a negative one.
func bound[T ~int | ~int64](v, byDefault, none T) T {
	switch {
	case v == 0:
		return byDefault
	case v < 0:
		return none
	}
	return v
}
