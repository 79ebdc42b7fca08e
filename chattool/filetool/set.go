package filetool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolproc/toolproc/chattool/internal/arguments"
	"github.com/toolproc/toolproc/chattool/internal/consent"
	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/chattool/shellfacts"
	"github.com/toolproc/toolproc/chattool/toolset"
)

type (
	// Definition describes a tool, as in package toolset.
	Definition = toolset.Definition
	// Call is a call of a tool, as in package toolset.
	Call = toolset.Call
)

// A Result is the outcome of a call.
type Result struct {
	// Content is the text for the model, in Options.Format.
	Content string
	// Report has the facts of Content, for a program.
	Report Report
	// IsError reports that the tool could not do its work.
	IsError bool
}

// A Set is the three tools, for one conversation. It is safe for concurrent use.
type Set struct {
	files   Files
	opts    Options
	names   names
	mistake error  // in Options.Names; if it is set, every call is refused
	tools   []tool // in the order of Definitions; never changed
	memory  memory
}

// A tool is one tool of a Set.
type tool struct {
	def Definition
	run func(ctx context.Context, c Call) report
}

// New returns the tools for some files. opts may be nil, and is copied.
func New(files Files, opts *Options) *Set {
	s := &Set{files: files}
	if opts != nil {
		s.opts = *opts
	}
	s.names, s.mistake = ownNames.rename(s.opts.Names)
	s.opts.Names = nil
	define := func(name, description string, args any, parallel bool, run func(context.Context, Call) report) {
		s.tools = append(s.tools, tool{run: run, def: Definition{
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
func (s *Set) Definitions() []Definition {
	defs := make([]Definition, len(s.tools))
	for i, t := range s.tools {
		defs[i] = t.def
		defs[i].Schema = slices.Clone(t.def.Schema)
	}
	return defs
}

// ReadFileTool returns the name of the tool that reads files, for
// toolset.Options.Files.
func (s *Set) ReadFileTool() string { return s.names.read }

// Call carries out one call. It never panics, and always returns a result for the
// model.
func (s *Set) Call(ctx context.Context, c Call) (res Result) {
	defer func() {
		if p := recover(); p != nil {
			rep := refuse("the tool failed unexpectedly: %s. Read the file before you go on", wording.Clip(fmt.Sprint(p), wording.MaxWords))
			res = s.finish(rep)
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
// is over.
func (s *Set) begin(ctx context.Context, c Call, name string, args any) (rep report, ok bool) {
	if err := arguments.Decode(c.Arguments, args); err != nil {
		return refuse("%s: %s", name, wording.Clip(err.Error(), wording.MaxWords)), false
	}
	if ctx.Err() != nil {
		return refuse("%s; nothing was done", endOf(ctx)), false
	}
	return rep, true
}

// ask asks Options.Approve about a call.
func (s *Set) ask(ctx context.Context, c Call, reads, writes []string, undone string) (rep report, ok bool) {
	if s.opts.Approve == nil {
		return rep, true
	}
	q := toolset.Question{Call: c, Facts: shellfacts.Facts{Complete: true, Reads: paths(reads), Writes: paths(writes)}}
	q.Call.Arguments = slices.Clone(c.Arguments)
	rep.Error = consent.Ask(ctx, func(ctx context.Context) (bool, string, error) {
		v, err := s.opts.Approve(ctx, q)
		return v.Deny, v.Reason, err
	}, endOf, undone)
	rep.Denied = rep.Error != ""
	return rep, !rep.Denied
}

func paths(names []string) (all []shellfacts.Path) {
	for _, name := range names {
		all = append(all, shellfacts.Path{Name: name, Literal: true, Path: name})
	}
	return all
}

// endOf says in words how a context has ended.
func endOf(ctx context.Context) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return "the call ran out of time"
	}
	return "the call was canceled"
}
