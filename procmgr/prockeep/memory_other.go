//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"errors"
	"os"
)

// memory fails: only a holder needs such a file, and there is none here.
func memory(string) (*os.File, error) { return nil, errors.ErrUnsupported }
