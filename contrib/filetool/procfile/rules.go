package procfile

import (
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// rules are the rules of a sandbox, as paths without links. Of two rules, the one with the
// inner path counts.
type rules struct{ write, protect, hide []string }

// resolve returns the paths of an option without links.
func (l *Local) resolve(what string, paths []string) (all []string, err error) {
	for _, path := range paths {
		_, real, err := unlink(what, l.below(path))
		if err != nil {
			return nil, err
		}
		all = append(all, real)
	}
	return all, nil
}

// depth returns how long the longest of some paths is that a path is below, or 0.
func depth(paths []string, path string) (longest int) {
	for _, p := range paths {
		if within(p, path) {
			longest = max(longest, len(p))
		}
	}
	return longest
}

// hidden returns an error for what can be neither read nor written.
func (r rules) hidden(path string) error {
	if n := depth(r.hide, path); n == 0 || n < max(depth(r.write, path), depth(r.protect, path)) {
		return nil
	}
	return xerrors.Errorf("%s is hidden by a rule of the sandbox, and nothing there can be read or written: %w", path, procmgr.ErrRefused)
}

// passes is hidden for a directory on the way to a path: it may lead to one that a rule
// shows again.
func (r rules) passes(dir string) error {
	for _, shown := range [...][]string{r.write, r.protect} {
		for _, path := range shown {
			if within(dir, path) {
				return nil
			}
		}
	}
	return r.hidden(dir)
}

// protected returns an error for what cannot be written although it is below a directory
// where files can.
func (r rules) protected(path string) error {
	if n := depth(r.protect, path); n == 0 || n < depth(r.write, path) {
		return r.hidden(path)
	}
	return xerrors.Errorf("%s is protected by a rule of the sandbox, and cannot be written: %w", path, procmgr.ErrRefused)
}

// any reports whether a file that is open has to be looked at again: a link on the way
// to it may have been changed meanwhile.
func (r rules) any() bool { return len(r.hide)+len(r.protect) > 0 }

// where returns the path of an open file, which is p's unless the system knows better.
func where(f *os.File, p string) string {
	if path, err := os.Readlink("/proc/self/fd/" + strconv.FormatUint(uint64(f.Fd()), 10)); err == nil && filepath.IsAbs(path) {
		return path
	}
	return p
}
