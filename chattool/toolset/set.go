package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/toolproc/toolproc/chattool/toolset/internal/arguments"
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

// Static returns a Resolver that always names m.
func Static(m procmgr.Manager) Resolver {
	return func(context.Context) (procmgr.Manager, error) { return m, nil }
}

// Options configures a [Set]. The zero value of every field is its default. A
// negative duration means that there is no such wait or limit.
type Options struct {
	// DefaultTimeout is how long execute and process_output wait if the
	// model names no time: 10 s by default.
	DefaultTimeout time.Duration
	// MaxTimeout is the longest wait: 4 h by default. A longer wait is cut
	// to it, and the note says so. DefaultTimeout is cut to it too.
	MaxTimeout time.Duration
	// BackgroundWait is how long execute watches a command that it started
	// in the background: 200 ms by default. So a command that fails at once
	// ("command not found", "address in use") is reported as failed.
	BackgroundWait time.Duration
	// Format is the form of a result: FormatJSON by default.
	Format Format
	// Limit is how long a result may be, however much a model asks for; see
	// [headtail.Limits]. Its Bytes count the result as the model reads it: in
	// JSON a line end is two bytes and a NUL six. The manager is asked for the
	// same number of bytes of plain text. If that does not fit, more of the
	// middle is left out. Without max_output a result has 8,000 tokens, or
	// fewer if Limit allows fewer.
	Limit headtail.Limits
	// CountTokens counts the tokens of a text as the model does. If it is nil,
	// two bytes count as a token, which is more than the output of tools has
	// as a rule. It is called at most three times for a result, and only if the
	// result could have too many tokens. If it panics, two bytes count as a
	// token. It must be safe for concurrent use.
	CountTokens func(text string) int
	// KeepRepeats leaves runs of identical lines in a result as they are.
	// By default such a run becomes the line once and a count of the
	// others, if that is shorter.
	KeepRepeats bool
	// ReadFileTool is the name of the host's tool for reading files. If a
	// command only prints files, a note names the tool. By default there is
	// no such tool and no such note.
	ReadFileTool string
	// Names maps this package's names of the tools to the host's, such as
	// {"execute": "bash"}. A tool that is not in it keeps its name.
	// Definitions, descriptions and results use the host's names, and Call
	// takes no others. An unknown key, an empty name and one name for two
	// tools are mistakes. If there is one, the tools keep their own names,
	// and every call is refused with an error that says what is wrong. The
	// map is copied.
	Names map[string]string
	// Shell is the base name of the shell that runs the commands, such as
	// "bash" or "sh". The description of execute names it, and commands are
	// parsed in its language. If it is "", the manager is asked, see
	// Describe of [procmgr.Manager]. Set it if the manager cannot tell. It does not
	// change which shell runs the commands.
	Shell string
	// Notices says how the model is told of processes that were left running
	// and have ended since: NoticesInResults by default.
	Notices NoticeMode
	// OnStart is called before execute starts a process, with the ID that it
	// is going to have, so that a user interface can follow it before there is
	// a result. ctx is that of the call. The start may fail, or find the
	// process of an earlier call. OnStart must be safe for concurrent use. If
	// it is slow, so is the call.
	OnStart func(ctx context.Context, c Call, processID string)
	// Input adds the tool process_input, which writes to the stdin of a
	// process, and to execute the argument stdin, which starts a process with
	// one. Without it, stdin is always empty, so that nothing can hang on a
	// question. The manager must have Input.
	Input bool
	// ProcessID chooses the ID of the process that a call of execute
	// starts: 1 to 64 characters of A-Z a-z 0-9 _ -. It is for a host that
	// replays calls, after a crash or a lost answer. If it returns the same
	// ID for the same call again, the call gets the process of the first
	// time and runs nothing. If it is nil or returns "", each call gets a
	// new ID. A call that is made twice then runs twice, whatever its
	// Call.ID is.
	//
	// The ID must be new for every other call of the chat, or that call
	// gets an error and does not run. A provider's Call.ID is often not
	// new, since some providers count from 0 in each answer. The position
	// of a call in the conversation is: the number of the message, and the
	// number of the call in it. ProcessID must be safe for concurrent use.
	ProcessID func(ctx context.Context, c Call) string
}

// withDefaults returns a copy of o with every default filled in.
func (o *Options) withDefaults() Options {
	var opts Options
	if o != nil {
		opts = *o
	}
	opts.MaxTimeout = wait(opts.MaxTimeout, 4*time.Hour, noLimit)
	opts.DefaultTimeout = min(wait(opts.DefaultTimeout, 10*time.Second, 0), opts.MaxTimeout)
	opts.BackgroundWait = wait(opts.BackgroundWait, 200*time.Millisecond, 0)
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

// A Call is one tool call of a model.
type Call struct {
	// ID is the provider's ID of the call. It is for Options.ProcessID. The
	// tools do not look at it, so two calls with the same ID run twice.
	ID string
	// Name is the name of the tool.
	Name string
	// Arguments is the JSON object that the model sent, at most 4 MiB.
	Arguments json.RawMessage
}

// A Result is the outcome of a call.
type Result struct {
	// Content is the text for the model, in Options.Format.
	Content string
	// Report has the facts of Content, for a program.
	Report Report
	// IsError reports that the tool could not do its work. It is not set
	// for a command that failed.
	IsError bool
	// Output is the process and the output that was read, for a user
	// interface. It is nil if no process is known. After process_signal its
	// Text is empty.
	Output *procmgr.Output
}

// A Set is the four tools, or five with Options.Input. It is safe for concurrent use.
type Set struct {
	managers Resolver
	opts     Options
	names    names
	mistake  error  // in Options.Names; if it is set, every call is refused
	tools    []tool // in the order of Definitions; never changed
	places   places
	shells   knownShells
	id       string // tells the cursors of this Set from those of another one
	ledger   ledger
}

// A tool is one tool of a Set.
type tool struct {
	def Definition
	run func(ctx context.Context, c Call, t *turn) report
}

// New returns the tools, which run on the managers that the resolver returns.
// opts may be nil, and is copied.
func New(managers Resolver, opts *Options) *Set {
	s := &Set{managers: managers, opts: opts.withDefaults(), id: procmgr.NewID()}
	own := ownNames
	if s.opts.Input {
		own.input = ownInput
	}
	s.names, s.mistake = own.rename(s.opts.Names)
	s.opts.Names = nil
	define := func(name, description string, args any, parallel bool, run func(context.Context, Call, *turn) report) {
		s.tools = append(s.tools, tool{run: run, def: Definition{
			Name:        name,
			Description: s.fill(description),
			Schema:      arguments.Schema(args, s.fill),
			Parallel:    parallel,
		}})
	}
	// Only tools that read may run beside other calls. Two commands of one
	// step may depend on their order, and so may a signal.
	if s.opts.Input {
		define(s.names.execute, executeInputDescription, executeInputArgs{}, false, s.execute)
	} else {
		define(s.names.execute, executeDescription, executeArgs{}, false, s.execute)
	}
	var reads any = outputArgs{}
	if s.opts.Input {
		reads = outputInputArgs{}
	}
	define(s.names.output, outputDescription, reads, true, s.output)
	define(s.names.list, listDescription, listArgs{}, true, s.list)
	define(s.names.signal, signalDescription, signalArgs{}, false, s.signal)
	if s.opts.Input {
		define(s.names.input, inputDescription, inputArgs{}, false, s.input)
	}
	return s
}

// Definitions returns the tools for a model's provider: execute,
// process_output, process_list, process_signal and, with Options.Input,
// process_input, in this order and by their names in Options.Names. They are the
// same at every call, with one exception: the description of execute names the
// shell only once a manager has told it.
// The first call of Definitions asks a manager, for 2 s at most, and so does
// each call of execute.
func (s *Set) Definitions() []Definition {
	shell := spellShell(s.describedShell())
	defs := make([]Definition, len(s.tools))
	for i, t := range s.tools {
		defs[i] = t.def
		defs[i].Description = strings.ReplaceAll(t.def.Description, shellMark, shell)
		defs[i].Schema = slices.Clone(t.def.Schema)
	}
	return defs
}

// Call carries out one call. It never panics, and always returns a result for
// the model. It takes at most the time that the call names, and no longer than
// Options.MaxTimeout and ctx allow; see the package's comment on canceled
// calls.
func (s *Set) Call(ctx context.Context, c Call) (res Result) {
	var t turn
	defer func() {
		if p := recover(); p != nil {
			res = s.finish(ctx, &t, s.panicked(p, t.started))
		}
	}()
	if s.mistake != nil {
		return s.finish(ctx, &t, refuse("the tools are set up wrongly, so nothing was done: toolset.Options.Names cannot be used: %s. Tell the user", words(s.mistake)))
	}
	for _, tool := range s.tools {
		if tool.def.Name == c.Name {
			return s.finish(ctx, &t, tool.run(ctx, c, &t))
		}
	}
	return s.finish(ctx, &t, refuse("there is no tool %.60q; the tools are %s", c.Name, strings.Join(s.names.all(), ", ")))
}

// manager calls the resolver. If ok is false, the Result says why.
func (s *Set) manager(ctx context.Context) (m procmgr.Manager, res report, ok bool) {
	if s.managers == nil {
		return nil, refuse("no process manager is set up, so no command can be run and no process seen; tell the user"), false
	}
	m, err := s.managers(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, s.canceled(ctx, "nothing was done", nil, ""), false
	case errors.Is(err, procmgr.ErrRefused):
		return nil, denied("done", err), false
	case err != nil:
		return nil, refuse("no process manager is available, nothing was done: %s. Try again, and tell the user if that fails too", words(err)), false
	case m == nil:
		return nil, refuse("there is no process manager for this chat, so nothing was done; tell the user"), false
	}
	return m, report{}, true
}
