package filetool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/arguments"
	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/filetool/procfile"
)

// A Set is the three tools, for one conversation. It is safe for concurrent use.
type Set struct {
	files   procfile.Files
	opts    Options
	names   names
	mistake error  // in Options.Names; if it is set, every call is refused
	tools   []tool // in the order of Definitions; never changed
	memory  memory
}

// A tool is one tool of a Set.
type tool struct {
	def toolset.Definition
	run func(ctx context.Context, c toolset.Call) report
}

// New returns the tools for some files. opts may be nil, and is copied.
func New(files procfile.Files, opts *Options) *Set {
	s := &Set{files: files}
	if opts != nil {
		s.opts = *opts
	}
	s.names, s.mistake = ownNames.rename(s.opts.Names)
	s.opts.Names = nil
	define := func(name, description string, args any, parallel bool, run func(context.Context, toolset.Call) report) {
		s.tools = append(s.tools, tool{run: run, def: toolset.Definition{
			Name: name, Description: s.fill(description), Schema: arguments.Schema(args, s.fill), Parallel: parallel,
		}})
	}
	define(s.names.read, readDescription, readArgs{}, true, s.read)
	define(s.names.write, writeDescription, writeArgs{}, false, s.write)
	define(s.names.edit, editDescription, editArgs{}, false, s.edit)
	return s
}

// Definitions returns the tools for a model's provider: read_file, write_file and
// edit_files, in this order and by their names in Options.Names.
func (s *Set) Definitions() []toolset.Definition {
	defs := make([]toolset.Definition, len(s.tools))
	for i, t := range s.tools {
		defs[i] = t.def
		defs[i].Schema = slices.Clone(t.def.Schema)
	}
	return defs
}

// FileTools returns the tools as toolset.Options.Files has them.
func (s *Set) FileTools() toolset.FileTools {
	return toolset.FileTools{Read: s.names.read, ReadCall: s.readCall}
}

// Call carries out one call. It never panics, and always returns a result for the
// model.
func (s *Set) Call(ctx context.Context, c toolset.Call) (res toolset.Result) {
	if s.opts.Intercept == nil {
		return s.carryOut(ctx, c)
	}
	var once sync.Once
	var ours toolset.Result
	defer func() {
		if p := recover(); p != nil {
			once.Do(func() { ours = s.panicked(p) })
			res = ours
		}
	}()
	res = s.opts.Intercept(ctx, c, func(ctx context.Context) toolset.Result {
		once.Do(func() { ours = s.carryOut(ctx, c) })
		return ours
	})
	once.Do(func() {}) // next carries out nothing any more
	return res
}

func (s *Set) panicked(p any) toolset.Result {
	return s.finish(refuse("the tool failed unexpectedly: %s. Read the file before you go on", clip(fmt.Sprint(p))))
}

// carryOut carries out one call.
func (s *Set) carryOut(ctx context.Context, c toolset.Call) (res toolset.Result) {
	defer func() {
		if p := recover(); p != nil {
			res = s.panicked(p)
		}
		if s.opts.OnResult != nil {
			defer func() { _ = recover() }() // a panic of it is none of the model's business
			s.opts.OnResult(ctx, c, res)
		}
	}()
	if s.mistake != nil {
		return s.finish(refuse("the tools are set up wrongly, so nothing was done: filetool.Options.Names cannot be used: %s. Tell the user", s.mistake))
	}
	if s.files == nil {
		return s.finish(refuse("no files are set up, so nothing was done; tell the user"))
	}
	for _, tool := range s.tools {
		if tool.def.Name == c.Name {
			return s.finish(tool.run(ctx, c))
		}
	}
	return s.finish(refuse("there is no tool %.60q; the tools are %s", c.Name, strings.Join(s.names.all(), ", ")))
}

// begin reads the arguments of a call. If ok is false, the report says why the call
// is over, with an example of arguments: models know other names and shapes.
func (s *Set) begin(ctx context.Context, c toolset.Call, name, example string, args any) (rep report, ok bool) {
	if err := arguments.Decode(c.Arguments, args); err != nil {
		return refuse("%s: %s; for example %s", name, clip(err.Error()), example), false
	}
	if ctx.Err() != nil {
		return refuse("%s; nothing was done", endOf(ctx)), false
	}
	return rep, true
}

// ask asks Options.Approve about a call.
func (s *Set) ask(ctx context.Context, c toolset.Call, reads, writes []string, undone string) (rep report, ok bool) {
	if s.opts.Approve == nil {
		return rep, true
	}
	q := Question{Call: c, Reads: slices.Clone(reads), Writes: slices.Clone(writes)}
	q.Call.Arguments = slices.Clone(c.Arguments)
	v, err := s.decide(ctx, q)
	switch {
	case ctx.Err() != nil:
		v.Reason = endOf(ctx) + " before it was allowed"
	case err != nil:
		v.Reason = "it could not be decided: " + err.Error()
	case !v.Deny:
		return rep, true
	}
	rep.Denied = true
	rep.Error = strings.TrimSpace("denied: "+sentence(clip(v.Reason))) + " " + undone + ": do not look for a way around it; tell the user if the task needs it"
	return rep, false
}

// decide calls Options.Approve, which may panic.
func (s *Set) decide(ctx context.Context, q Question) (v toolset.Verdict, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = xerrors.Errorf("the policy failed: %v", p)
		}
	}()
	return s.opts.Approve(ctx, q)
}

// endOf says in words how a context has ended.
func endOf(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "the call ran out of time"
	}
	return "the call was canceled"
}
