package sandbox

import (
	"errors"
	"fmt"
)

// A lack is a part of a policy that cannot be enforced on this machine.
type lack struct {
	part, why string
}

func (l *lack) Error() string {
	return fmt.Sprintf("%s cannot be enforced on this machine: %s", l.part, l.why)
}

func (l *lack) Is(target error) bool { return target == errors.ErrUnsupported }
