// Package lineage lets the handler of prochttp go on where another one has ended,
// which served the same processes: that of a keeper before it. And it lets a client
// of prochttp know that its caller sees to that.
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

type (
	key      struct{}
	aloneKey struct{}
)

// With returns a context for HandlerOptions.Context.
func With(ctx context.Context, l *Line) context.Context {
	return context.WithValue(ctx, key{}, l)
}

// From returns the Line of a context, or nil.
func From(ctx context.Context) *Line {
	l, _ := ctx.Value(key{}).(*Line)
	return l
}

// Alone returns a context for the call of a client. Nobody but its caller starts a
// server where the client's was, so if nobody listens there, the client gives up at
// once.
func Alone(ctx context.Context) context.Context {
	return context.WithValue(ctx, aloneKey{}, true)
}

// IsAlone reports whether a context is one of Alone.
func IsAlone(ctx context.Context) bool { return ctx.Value(aloneKey{}) != nil }

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
