package filetool

import (
	"context"

	"github.com/toolproc/toolproc/chattool/toolset"
)

// Options configures a [Set]. The zero value of every field is its default. The
// fields mean the same as in toolset.Options.
type Options struct {
	// Format is the form of a result: toolset.FormatJSON by default.
	Format toolset.Format
	// Names maps this package's names of the tools to the host's, such as
	// {"read_file": "view"}. A mistake in it is told by every call, as with
	// toolset.Options.
	Names map[string]string
	// Approve decides whether a call may do its work, as in toolset.Options. It is
	// asked for each call of a tool.
	Approve func(ctx context.Context, q Question) (toolset.Verdict, error)
	// OnResult and Intercept are as in toolset.Options, so that a trace or a page gets the
	// calls of both.
	OnResult  func(ctx context.Context, c toolset.Call, r toolset.Result)
	Intercept func(ctx context.Context, c toolset.Call, next func(context.Context) toolset.Result) toolset.Result
}

// A Question is what Options.Approve is asked. All of it is the callee's to keep.
type Question struct {
	Call toolset.Call // as the model made it
	// Reads and Writes are the files, as the call names them.
	Reads, Writes []string
}
