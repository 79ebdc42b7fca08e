package toolset

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/toolproc/toolproc/chattool/arguments"
	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

// A Resolver returns the manager that a call goes to. It gets the context of
// each call, so it may choose the chat or the machine by a value in the
// context. If it returns an error, or a nil Manager, the call has a tool error
// that quotes the error. So the error should say what to do. If the error is
// [procmgr.ErrRefused], the model is told not to try again. If it chooses between
// machines, a chat needs another ID on each of them: a Set knows a conversation by
// the ID of its chat, and would look for its processes on the other machine. A
// Resolver must be safe for concurrent use.
//
// [Set.Definitions] also calls it, once, with a context that has no values.
type Resolver func(ctx context.Context) (procmgr.Manager, error)

// Static returns a Resolver that always names m. If m is nil, so is the Resolver, and
// [New] fails.
func Static(m procmgr.Manager) Resolver {
	if isNil(m) {
		return nil
	}
	return func(context.Context) (procmgr.Manager, error) { return m, nil }
}

// Options configures a [Set]. The zero value of every field is its default. A
// negative duration means that there is no such wait or limit. Functions may be called
// by several goroutines at once.
type Options struct {
	// DefaultTimeout is how long execute and process_output wait if the
	// model names no time: 10 s by default.
	DefaultTimeout time.Duration
	// MaxTimeout is the longest wait: 4 h by default. A longer wait is cut
	// to it, and the note says so. DefaultTimeout is cut to it too.
	MaxTimeout time.Duration
	// Format is the form of a result: FormatJSON by default.
	Format Format
	// Limit is how long a result may be, however much a model asks for; see
	// [headtail.Limits]. Its Bytes count the result as the model reads it: in
	// JSON a line end is two bytes and a NUL six. Without max_output a result has
	// 8,000 tokens, or fewer if Limit allows fewer. It cannot be negative.
	Limit headtail.Limits
	// Whole makes every result have the output itself: not only what differs from that
	// of an earlier run, or one line if a read shows nothing new again. A host that takes
	// results out of a conversation calls [Set.Forget], or sets Whole.
	Whole bool
	// Files are the host's tools for files, such as contrib/filetool. If a command
	// only prints files, a note names the tool that reads them. The zero value is
	// none, and then there is no such note. The Set does not carry out their calls.
	Files FileTools
	// Names maps this package's names of the tools to the host's, such as
	// {"execute": "bash"}. A tool that is not in it keeps its name. If a name is
	// unknown, empty or given twice, New fails.
	Names map[string]string
	// Shell is the base name of the shell that runs the commands, such as
	// "bash" or "sh", if [procmgr.Manager].Describe cannot tell, or not before there is a
	// chat. The description of execute names it, and commands are parsed in its language.
	// It does not change which shell runs them.
	Shell string
	// NoticesInInbox leaves it to the host to tell the model of processes that were
	// left running and have ended since: the host takes them from an [Inbox]. So
	// nothing is lost, and an idle model can be woken. By default the result of the next
	// call has them, at most once: if the loop drops that result, so is the notice. A
	// manager without Events tells nothing either way.
	NoticesInInbox bool
	// OnOutput is called with the output of each process that this Set has started,
	// beginning to end and in order, by one goroutine for each process. It ends when
	// the process has exited, when reading fails for good, or at [Set.Close]; ctx has
	// the values of the call and ends at Close. The last chunk may come after the
	// call's result. A call that finds the process of an earlier call gets no chunks.
	// If OnOutput is slow, so are its chunks, but not the process. If it panics, the
	// process gets no further chunks.
	OnOutput func(ctx context.Context, c Call, chunk procmgr.Chunk)
	// OnWait is called every 10 s while a call waits for a process, each time that the
	// manager has answered: so it is a heartbeat, and ends if the machine is gone. waited
	// is how long the call has waited. With it, a wait is made of requests of 10 s. If
	// it is slow, so is the call.
	OnWait func(ctx context.Context, c Call, p procmgr.Process, waited time.Duration)
	// OnResult is called with each result before Call returns it, for a user
	// interface or a record. It gets the context of the call, which may have ended. It
	// must not change what the result points to. If it is slow, so is the call; if it
	// panics, the model gets the result all the same.
	OnResult func(ctx context.Context, c Call, r Result)
	// Input adds the tool process_input, which writes to the stdin of a
	// process, and to execute the argument stdin, which starts a process with
	// one. Without it, stdin is always empty, so that nothing can hang on a
	// question. The manager must have Input.
	Input bool
	// ProcessID chooses the ID of the process that a call of execute
	// starts: 1 to 64 characters of A-Z a-z 0-9 _ -. It is for a host that
	// replays calls, after a crash or a lost answer: if it returns the same
	// ID for the same call again, the call gets the process of the first
	// time and runs nothing, as long as the manager lives and keeps a record of it. If
	// it is nil or returns "", each call gets a new ID, and a call that is made twice
	// runs twice, whatever its Call.ID is. With Call.IssuedAt it does not run again
	// when the manager has been restarted either: then the model is told that it may
	// have run.
	//
	// The ID must be new for every other call of the chat, or that call
	// gets an error and does not run. A provider's Call.ID is often not
	// new, because some count from 0 in each answer. The index of the message in the
	// conversation together with the index of the call in the message is; [StableID]
	// makes an ID of them.
	ProcessID func(ctx context.Context, c Call) string
	// Approve decides whether a call of execute, process_input or process_signal
	// may do its work. It is called before anything is started, written or sent,
	// and the timeout of the call begins after its answer. It has to return when ctx
	// ends. An error, a panic and a context that has ended deny. If ProcessID returns the
	// ID of a process that the chat has, nothing would be started and Approve is not
	// called. If it is nil, all calls are allowed.
	Approve func(ctx context.Context, q Question) (Verdict, error)
	// Advise returns notes of the host's own on a result that has the output of a
	// process. They stand behind the Set's. Output of the Report is the text as the
	// manager gave it, which the result may shorten. It must not change what the Report
	// points to.
	Advise func(Report) []string
	// Intercept is called for each call in place of next, which carries the call out.
	// It may call next with another context, for a trace, or not at all. What it
	// returns is the result. Calling next again does nothing and returns the same
	// result. If Intercept panics, the result of next counts, or a refusal if next
	// was not called.
	Intercept func(ctx context.Context, c Call, next func(context.Context) Result) Result
}

// FileTools are a host's tools for files, by the names the model knows.
type FileTools struct {
	// Read is the name of the tool that reads files.
	Read string
	// ReadCall renders a call of it that reads a file from a line on, such as
	// `read_file {"path":"main.go","offset":120}`. 0 is the beginning, and -20 the last
	// 20 lines. If it is nil, or returns "", notes name the tool alone.
	ReadCall func(path string, offset int64) string
}

// withDefaults returns a copy of o with every default filled in.
func (o *Options) withDefaults() Options {
	var opts Options
	if o != nil {
		opts = *o
	}
	opts.Limit.Bytes = cmp.Or(opts.Limit.Bytes, headtail.DefaultTextLimit)
	opts.MaxTimeout = wait(opts.MaxTimeout, 4*time.Hour, noLimit)
	opts.DefaultTimeout = min(wait(opts.DefaultTimeout, 10*time.Second, 0), opts.MaxTimeout)
	return opts
}

// noLimit is the MaxTimeout of a Set that has none.
const noLimit time.Duration = math.MaxInt64

// wait returns d. For 0 it returns byDefault, and for a negative d it returns
// none.
func wait(d, byDefault, none time.Duration) time.Duration {
	switch {
	case d == 0:
		return byDefault
	case d < 0:
		return none
	}
	return d
}

// A Format is the form of the text that a model reads.
type Format int

const (
	// FormatJSON is one JSON object on one line.
	FormatJSON Format = iota
	// FormatText is a header, a line with --- and the output, untouched. The
	// header is one line of facts, and then lines that begin with what they
	// are, such as "note: ". What a header quotes has its line ends and
	// controls escaped, so the first line with --- ends the header, whatever a
	// program prints. It takes fewer tokens than JSON.
	FormatText
)

// clamp cuts a wait to the longest that is allowed, and says so.
func (o *Options) clamp(name string, d arguments.Duration) (wait time.Duration, note string) {
	wait = time.Duration(d)
	if wait <= o.MaxTimeout {
		return wait, ""
	}
	return o.MaxTimeout, name + " was cut from " + wording.Duration(wait) + " to the longest allowed, " + wording.Duration(o.MaxTimeout) + "."
}
