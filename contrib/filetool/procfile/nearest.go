package procfile

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/contrib/filetool/internal/edits"
)

const (
	// mostNames is how many names of a directory are looked at.
	mostNames = 10_000
	// mostNearest is how many an error has.
	mostNearest = 3
)

// missing returns the error of a file that is not there. It has the names there that
// are nearest to the one that is missing.
func (l *Local) missing(p place) error {
	what, dir, name, there := "file", p.dir(), p.name(), ""
	for range p.parents {
		what, dir, name, there = "directory", filepath.Dir(dir), filepath.Base(dir), ", so that there is no "+p.path
	}
	hint := "no name there is like it; search with a command, such as find"
	if f, err := l.open(place{path: dir}); err == nil {
		defer f.Close()
		names, _ := f.Readdirnames(mostNames) // those that could be read
		if near := nearest(name, names); len(near) > 0 {
			hint = "the nearest names there are " + strings.Join(near, ", ")
		}
	}
	return xerrors.Errorf("there is no %s %s in %s%s; %s: %w", what, name, dir, there, hint, fs.ErrNotExist)
}

// nearest returns the names that are most like a name, the nearest first.
func nearest(name string, names []string) []string {
	names = slices.DeleteFunc(names, func(other string) bool { return alike(name, other) <= 0.5 })
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(alike(name, b), alike(name, a)), strings.Compare(a, b))
	})
	return names[:min(len(names), mostNearest)]
}

// alike returns how much two names have in common, from 0 to 1. Names that are the same but
// for the extension are alike, and so are those of which one begins with the other.
func alike(a, b string) float64 {
	a, b = strings.ToLower(a), strings.ToLower(b)
	stem := func(s string) string { return strings.TrimSuffix(s, filepath.Ext(s)) }
	if s, t := stem(a), stem(b); len(s) > 1 && len(t) > 1 && (strings.HasPrefix(t, s) || strings.HasPrefix(s, t)) {
		return max(edits.Like(a, b), 0.7)
	}
	return edits.Like(a, b)
}
