//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// absent reports whether a directory certainly has no keeper, and nothing that one
// has left.
func absent(ctx context.Context, dir string) bool {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return errors.Is(err, fs.ErrNotExist)
	}
	o := opener{dir: dir}
	l, err := o.greet(ctx)
	if err == nil {
		l.close()
	}
	return errors.Is(err, errAbsent) && !o.hasLeft()
}
