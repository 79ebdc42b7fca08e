//go:build !linux

package osproc

import (
	"errors"
	"os"
)

// Memory returns a file that is in memory alone.
func Memory(string) (*os.File, error) { return nil, errors.ErrUnsupported }
