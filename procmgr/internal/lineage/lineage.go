// Package lineage lets the handler of prochttp go on where another one has ended,
// which served the same processes: that of a keeper before it.
package lineage

import (
	"context"
	"strconv"
	"strings"
)

// A Line is what goes from one handler to the next. NewHandler takes it from the
// context of its options. The fields are the caller's again once NewHandler has
// returned.
type Line struct {
	// Instance is that of the next handler; "" is a new one. NewHandler sets it.
	Instance string
	// Answers are the answers to signals that another handler has saved.
	Answers []byte
	// Save returns them. NewHandler sets it.
	Save func() []byte
}

type key struct{}

// With returns a context for HandlerOptions.Context.
func With(ctx context.Context, l *Line) context.Context {
	return context.WithValue(ctx, key{}, l)
}

// From returns the Line of a context, or nil.
func From(ctx context.Context) *Line {
	l, _ := ctx.Value(key{}).(*Line)
	return l
}

// separator comes before the number by which an instance differs from the one
// before it. No instance has it otherwise.
const separator = "~"

// After returns the instance of a handler that follows one which has died. It
// knows every ID that was sent to that one, and none of its answers.
func After(instance string) string {
	base, number, _ := strings.Cut(instance, separator)
	n, _ := strconv.Atoi(number)
	return base + separator + strconv.Itoa(n+1)
}

// Continued reports whether a handler follows another one that has died, and knows
// every ID that was sent to it.
func Continued(before, now string) bool {
	old, _, _ := strings.Cut(before, separator)
	base, _, _ := strings.Cut(now, separator)
	return old == base && before != now
}
