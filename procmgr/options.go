package procmgr

import (
	"log/slog"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/headtail"
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
// Hooks may be called from several goroutines at once; a hook that panics is
// logged and passed over.
type Options struct {
	// Env says which of the host's variables a child gets. The zero value
	// passes all but secrets.
	Env envpolicy.Policy
	// UpdateEnv gets what Env let through, as NAME=value, and returns what
	// the child gets; what it adds is not withheld. The request's variables
	// come after it. Where it fails, the error is logged and what Env let
	// through is used.
	UpdateEnv func(env []string) ([]string, error)
	// WorkDir returns the directory for requests that name none, asked at each
	// start. A relative one is resolved against this program's current
	// directory, a ~ as in [StartRequest]. If WorkDir is nil or returns "",
	// commands run in the program's current directory at that time, and if that
	// has been removed, in the home. A directory that cannot be used is passed
	// over for the next of these; a log line and Output.PassedOver say so.
	WorkDir func() string
	// Shell stands in front of the command: the default is "sh", "-c". On
	// Windows that is the sh on PATH, or the one that comes with the git there;
	// "cmd", "/d", "/s", "/c" gets the command as it is. It is the place for a
	// niceness, another user or a sandbox:
	//
	//	[]string{"nice", "-n", "10", "sh", "-c"}
	Shell []string

	// Cgroup is a directory of a cgroup v2 file system that is delegated to
	// this program's user, "" for none. Each process then runs in a cgroup of
	// its own below it, which nothing that it starts can leave without the
	// right to move processes: so all of it is known, and Kill ends all of
	// it, whatever became of its session and its environment. It costs some
	// 5 % of a short command, and more with controllers. A directory that cannot serve is an error of
	// NewLocal that says why.
	//
	// NewLocal also ends what an earlier Local in the same directory left
	// behind when its program was killed. Linux 5.14.
	Cgroup string

	// Head and Tail are the bytes of output that are kept from the beginning
	// and from the end of a process's output; 0 is headtail.DefaultHead and
	// headtail.DefaultTail.
	Head, Tail int

	// RawOutput keeps output as it was printed. Otherwise escape sequences go,
	// and of a line that is drawn again and again its first and its newest
	// state stay, see package plaintext. Offsets count what is kept.
	RawOutput bool

	// LogDir is a directory in which each process's output is written to a
	// file as well, "" for none: a model can search there for what the window
	// has dropped, and Output reads what it lacks from there. The files, mode
	// 0600, are in a directory of the Local's own, mode 0700, and go with
	// their records, or with Close. What a Local left that was killed is
	// removed by the next one, on Unix. The directory is made where it does
	// not exist; one that others can write to is [ErrInvalid], unless it is
	// sticky. A log that cannot be written, as on a full disk, ends; its
	// process goes on, and Process.LogError says so.
	LogDir string
	// KeepLogs leaves the files where they are; whoever sets it removes them.
	KeepLogs bool
	// MaxLog bounds one log (64 MiB by default) and MaxLogs all of them (1 GiB
	// by default), in bytes. Beyond MaxLogs the oldest
	// log of a process that has exited goes, unless KeepLogs is set.
	MaxLog, MaxLogs int64

	// Retain is how long the record and the output of a process that has
	// exited are kept, as far as OutputMemory allows: 1 h by default.
	Retain time.Duration
	// OutputMemory bounds the output kept in memory, in bytes, of all
	// processes together: where it is exceeded, the oldest of those that have
	// exited go. 64 MiB by default. What still runs is
	// never dropped: it is bounded by MaxRunning times Head and Tail. The
	// commands' own length counts too, and beyond 16,384 records the oldest
	// go whatever they take.
	OutputMemory int64
	// MaxRunningPerChat and MaxRunning bound the processes that have not
	// exited, of one chat (64 by default) and in all (1,024 by default). What
	// the host itself starts is in no chat. Beyond it Start is [ErrLimit]. What
	// has exited never counts.
	MaxRunningPerChat, MaxRunning int

	// StopGrace is how long Close waits between terminating what runs and
	// killing it: 5 s by default.
	StopGrace time.Duration

	// OnStart is called before the Start that began the process returns, and
	// before OnExit. OnExit is called once, when a process has exited. Close
	// waits for both, so that neither may call it.
	OnStart, OnExit func(Process)

	// Metrics is told what happens, for counters and histograms; nil for
	// nothing.
	Metrics *Metrics
	// Logger gets the life of each process, with process_id and chat_id on
	// every line, and never a command, its output or an environment value.
	// nil logs nothing.
	Logger *slog.Logger
}

// withDefaults returns a copy in which every field has its real value: what is
// negative, and so has no bound, is the largest number.
func (o *Options) withDefaults() Options {
	var c Options
	if o != nil {
		c = *o
	}
	c.Env.Allow = slices.Clone(c.Env.Allow)
	c.Env.Exclude = slices.Clone(c.Env.Exclude)
	c.Env.IncludeOnly = slices.Clone(c.Env.IncludeOnly)
	c.Env.Unset = slices.Clone(c.Env.Unset)
	c.Env.Set = maps.Clone(c.Env.Set)
	c.Shell = slices.Clone(c.Shell)
	if c.Metrics != nil {
		own := *c.Metrics
		c.Metrics = &own
	}
	if len(c.Shell) == 0 {
		c.Shell = []string{"sh", "-c"}
	}
	c.Head = size(c.Head, headtail.DefaultHead)
	c.Tail = size(c.Tail, headtail.DefaultTail)
	c.Retain = bound(c.Retain, defaultRetain, math.MaxInt64)
	c.OutputMemory = bound(c.OutputMemory, defaultOutputMemory, math.MaxInt64)
	c.MaxRunningPerChat = bound(c.MaxRunningPerChat, defaultMaxRunningPerChat, math.MaxInt)
	c.MaxRunning = bound(c.MaxRunning, defaultMaxRunning, math.MaxInt)
	c.MaxLog = bound(c.MaxLog, defaultMaxLog, math.MaxInt64)
	c.MaxLogs = bound(c.MaxLogs, defaultMaxLogs, math.MaxInt64)
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
