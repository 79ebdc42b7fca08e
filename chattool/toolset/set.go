package toolset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/arguments"
	"github.com/toolproc/toolproc/procmgr"
)

// A Set is the four tools, or five with Options.Input. It is safe for concurrent use.
type Set struct {
	kit
	tools []tool // in the order of Definitions; never changed
}

// A kit is what the tools of a Set work with. It knows none of them.
type kit struct {
	managers Resolver
	opts     Options
	names    names
	machines machines
	ledger   ledger
	memory   memory
	streams  streams
	inFlight sync.Map // of *inFlight
}

// A tool is one tool of a Set. args is a struct of its arguments; fill completes its
// description and theirs.
type tool struct {
	name, description string
	args              any
	parallel          bool
	run               func(ctx context.Context, c Call, t *turn) report
}

// New returns the tools, which run on the managers that the resolver returns.
// opts may be nil, and is copied. New fails if managers is nil, such as Static(nil), or if
// the documentation of a field of opts rules out its value.
func New(managers Resolver, opts *Options) (*Set, error) {
	s := &Set{kit: kit{managers: managers, opts: opts.withDefaults()}}
	if managers == nil {
		return nil, xerrors.New("toolset: new: no process manager: the Resolver is nil, as that of Static(nil) is")
	}
	if s.opts.Limit.Bytes < 0 || s.opts.Limit.Line < 0 {
		return nil, xerrors.New("toolset: new: Options.Limit is negative, and a result needs a limit; leave it out for the default")
	}
	s.names = ownNames
	if !s.opts.Input {
		s.names.input = ""
	}
	if err := arguments.Rename(s.opts.Names, &s.names.execute, &s.names.output, &s.names.list, &s.names.signal, &s.names.input); err != nil {
		return nil, xerrors.Errorf("toolset: new: Options.Names: %w", err)
	}
	s.opts.Names = nil
	s.machines.shell = s.opts.Shell
	s.streams.open, s.streams.end = context.WithCancel(context.Background())
	s.ledger.setID = procmgr.NewID()
	// Only tools that read may run beside other calls. Two commands of one
	// step may depend on their order, and so may a signal.
	s.tools = []tool{
		{s.names.execute, executeDescription, executeArgs{}, false, s.execute},
		{s.names.output, outputDescription, outputArgs{}, true, s.output},
		{s.names.list, listDescription, listArgs{}, true, s.list},
		{s.names.signal, signalDescription, signalArgs{}, false, s.signal},
	}
	if s.opts.Input {
		s.tools = append(s.tools, tool{s.names.input, inputDescription, inputArgs{}, false, s.input})
	}
	return s, nil
}

// Definitions returns the tools for a model's provider: execute,
// process_output, process_list, process_signal and, with Options.Input,
// process_input, in this order and by their names in Options.Names. They are the
// same at every call, with one exception: execute names the shell, and the rules of a
// sandbox if there is one, and lacks notify_on if there are no events, only once a
// manager has told so.
// The first call of Definitions asks a manager, for 2 s at most, and so does
// each call of execute.
func (s *Set) Definitions() []Definition {
	machine := s.machines.forDefinitions(s.resolve)
	fill := func(description string) string { return s.fill(description, machine) }
	defs := make([]Definition, len(s.tools))
	for i, t := range s.tools {
		defs[i] = Definition{Name: t.name, Description: fill(t.description), Schema: arguments.Schema(t.args, fill), Parallel: t.parallel}
	}
	return defs
}

// CallAll carries out the calls of one answer of a model, and returns their results in
// the same order. A call begins once the call before it has ended, because it may
// depend on it. Only calls of a tool with Definition.Parallel run concurrently with the
// calls after them.
func (s *Set) CallAll(ctx context.Context, calls []Call) []Result {
	results := make([]Result, len(calls))
	var beside sync.WaitGroup // the goroutines of this call; Wait below waits for all
	for i, c := range calls {
		work := func() { results[i] = s.Call(ctx, c) }
		if slices.ContainsFunc(s.tools, func(t tool) bool { return t.name == c.Name && t.parallel }) {
			beside.Go(work)
		} else {
			work()
		}
	}
	beside.Wait()
	return results
}

// Call carries out one call. It never panics, and always returns a result for
// the model. It takes at most the time that the call names, and no longer than
// Options.MaxTimeout and ctx allow; see the package's comment on canceled
// calls. The time in which Options.Approve decides is not part of that.
func (s *Set) Call(ctx context.Context, c Call) Result {
	if s.opts.Intercept != nil {
		return s.intercepted(ctx, c)
	}
	return s.carryOut(ctx, c)
}

// intercepted lets Options.Intercept carry out a call.
func (s *Set) intercepted(ctx context.Context, c Call) (res Result) {
	var (
		once sync.Once
		ours Result
	)
	defer func() {
		if p := recover(); p != nil {
			once.Do(func() { // waits for it, or keeps it from being called
				var t turn
				ours = s.finish(ctx, &t, s.panicked(p, ""))
			})
			res = ours
		}
	}()
	return s.opts.Intercept(ctx, c, func(ctx context.Context) Result {
		once.Do(func() { ours = s.carryOut(ctx, c) })
		return ours
	})
}

// carryOut carries out one call.
func (s *Set) carryOut(ctx context.Context, c Call) (res Result) {
	var t turn
	defer func() {
		if p := recover(); p != nil {
			res = s.finish(ctx, &t, s.panicked(p, t.started))
		}
		if s.opts.OnResult != nil {
			guard(func() { s.opts.OnResult(ctx, c, res) })
		}
	}()
	var names []string
	for _, tool := range s.tools {
		if tool.name == c.Name {
			r := tool.run(ctx, c, &t)
			r.Description = arguments.Description(c.Arguments)
			return s.finish(ctx, &t, r)
		}
		names = append(names, tool.name)
	}
	return s.finish(ctx, &t, refuse("there is no tool %.60q; the tools are %s", c.Name, strings.Join(names, ", ")))
}

// Forget makes the Set forget what its results have shown to a chat: a host calls it when
// it has compacted the chat's conversation, since the model no longer has the outputs before
// it. The next results are whole. "" is all chats.
func (s *Set) Forget(chatID string) { s.memory.forget(chatID) }

// finish makes the result of a report: it adds what has become of other
// processes, and writes all of it for the model.
func (s *Set) finish(ctx context.Context, t *turn, r report) Result {
	s.tellNotices(ctx, t, &r)
	if m := t.manager; m != nil && r.Out != nil && r.Out.Process.ID != "" {
		s.compareAgain(ctx, m, &r)
		id := r.Out.Process.ID
		ctx, cancel := fresh(ctx, snapshotLimit)
		defer cancel()
		r.Read = func(req procmgr.OutputRequest) (procmgr.Output, error) { return m.Output(ctx, id, req) }
	}
	content := s.write(&r)
	s.remember(t.manager, &r)
	return Result{Content: content, IsError: r.isError, Output: r.Out, Report: r.Report}
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
	// IssuedAt is when the host received this call from the model, by the host's clock.
	// Hosts set it that replay calls after a restart, with Options.ProcessID: a command
	// that may have run since then, although its manager does not know it, is not run
	// again. A host whose replicas' clocks differ sets it earlier by that difference.
	// With the zero time a command whose ID is not known always runs.
	IssuedAt time.Time
}

// StableID derives an ID for Options.ProcessID from, for example, the chat, the number of
// the message and the provider's ID of the call. The same parts give the same ID, and
// other parts another one: ("a", "bc") is not ("ab", "c").
func StableID(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		_, _ = fmt.Fprintf(sum, "%d:%s", len(part), part) // never fails
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
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
