// Package baseenv has what a command starts from: the environment and the
// directory of the program that asks for it, which isn't the program the manager
// runs in if a keeper lies between them.
package baseenv

import (
	"context"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/internal/redact"
)

// An Origin is what a start takes from the program that asked for it instead of
// from the program the manager runs in. It does not change.
type Origin struct {
	Env      []string       // NAME=value, what the policy of that program let through
	Withheld []string       // the names of the variables it kept back
	Secrets  []redact.Value // what to mask in output
	Dir      string         // the program's current directory; "" if it is gone

	// Claim is called before the fork with the evidence by which the process will
	// be found. If it returns an error, nothing is forked and the start is refused
	// with that error. nil claims nothing.
	Claim func(osproc.Lineage) error
	// Started is called once after the fork, with the PID and the start time filled
	// in, and before anyone hears of the process. nil is not called.
	Started func(osproc.Lineage)
	// Refused is called once if nothing runs although Claim has returned nil, or
	// although it was never called. Ended is called once when nothing is left of the
	// process, before anyone hears of that. Either may be nil.
	Refused func()
	Ended   func(procmgr.Process)
}

type key struct{}

// With returns a context whose starts take from o.
func With(ctx context.Context, o *Origin) context.Context {
	return context.WithValue(ctx, key{}, o)
}

// From returns the Origin of a context, or nil if the start takes from this program.
func From(ctx context.Context) *Origin {
	o, _ := ctx.Value(key{}).(*Origin)
	return o
}
