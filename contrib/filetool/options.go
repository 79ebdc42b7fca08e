package filetool

import (
	"context"
	"math"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/headtail"
)

// Options configures a [Set]. The zero value of every field is its default. The
// fields mean the same as in toolset.Options.
type Options struct {
	// Format is the form of a result: toolset.FormatJSON by default.
	Format toolset.Format
	// Limit is how long a result may be; its Bytes count the result as the model
	// reads it. 0 is no other limit than read_file's own.
	Limit headtail.Limits
	// CountTokens counts the tokens of a text as the model does. If it is nil, two
	// bytes count as a token. If it panics, they do too. It must be safe for
	// concurrent use.
	CountTokens func(text string) int
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

const (
	// tokenBytes is how many bytes count as a token if nothing counts them.
	tokenBytes = 2
	// least is how many bytes a result may have at least, so that its facts and words
	// have room.
	least = 512
)

// A budget is what a result may take.
type budget struct {
	bytes  int // as the model reads it
	tokens int // 0: any
	count  func(string) int
}

// allow returns the budget of a call that asks for a number of tokens; 0 is any.
func (o *Options) allow(tokens int) budget {
	b := budget{bytes: math.MaxInt, tokens: tokens, count: o.CountTokens}
	if o.Limit.Bytes > 0 {
		b.bytes = max(o.Limit.Bytes, least)
	}
	if tokens > 0 && o.CountTokens == nil {
		b.bytes = min(b.bytes, max(min(tokens, math.MaxInt/tokenBytes)*tokenBytes, least))
	}
	return b
}

// fits reports whether a text is within the budget.
func (b budget) fits(text string) bool {
	return len(text) <= b.bytes && (b.tokens == 0 || b.count == nil || len(text) <= b.tokens || b.counted(text) <= b.tokens)
}

func (b budget) counted(text string) (n int) {
	defer func() {
		if recover() != nil {
			n = len(text) / tokenBytes
		}
	}()
	return b.count(text)
}

// A Question is what Options.Approve is asked. All of it is the callee's to keep.
type Question struct {
	Call toolset.Call // as the model made it
	// Reads and Writes are the files, as the call names them.
	Reads, Writes []string
}
