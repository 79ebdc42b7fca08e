//go:build !linux

package osproc

import (
	"context"
	"errors"
	"time"
)

// EndSurvivors does nothing: nothing proves here that a process is a member of a tree
// whose System is dead. The error is [errors.ErrUnsupported], unless there is no tree.
func EndSurvivors(_ context.Context, dead []Lineage, _ time.Duration) error {
	if len(dead) == 0 {
		return nil
	}
	return errors.ErrUnsupported
}

// BootID returns "".
func BootID() string { return "" }
