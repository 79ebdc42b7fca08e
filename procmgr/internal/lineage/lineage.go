// Package lineage lets the handler of prochttp go on where another one has ended,
// which served the same processes: that of a keeper before it.
package lineage

import (
	"strconv"
	"strings"
)

// A Line goes from one handler to the next. The fields are the caller's again once
// NewKeeperHandler has returned.
type Line struct {
	// Instance is that of the next handler; "" is a new one. NewKeeperHandler sets it.
	Instance string
	// Answers are the answers to signals that another handler has saved.
	Answers []byte
	// Save returns them. NewKeeperHandler sets it.
	Save func() []byte
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
