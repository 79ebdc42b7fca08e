//go:build !linux

package sandbox

import (
	"errors"
	"runtime"

	"golang.org/x/xerrors"
)

func open(Policy) (*Box, error) {
	return nil, xerrors.Errorf("there are none on %s yet: %w", runtime.GOOS, errors.ErrUnsupported)
}
