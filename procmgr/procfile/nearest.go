package procfile

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/xerrors"
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
	dir, name := p.dir(), p.name()
	for range p.parents {
		dir, name = filepath.Dir(dir), filepath.Base(dir)
	}
	what, there := "file", ""
	if p.parents > 0 {
		what, there = "directory", ", so that there is no "+p.path
	}
	names := l.names(dir)
	near := nearest(name, names)
	switch {
	case len(near) > 0:
		return xerrors.Errorf("there is no %s %s in %s%s; the nearest names there are %s: %w", what, name, dir, there, strings.Join(near, ", "), fs.ErrNotExist)
	case len(names) == 0:
		return xerrors.Errorf("there is no %s %s in %s%s, which is empty or cannot be listed: %w", what, name, dir, there, fs.ErrNotExist)
	}
	return xerrors.Errorf("there is no %s %s in %s%s, and no name there is like it; search with a command, such as find: %w", what, name, dir, there, fs.ErrNotExist)
}

// names returns names of a directory that exists.
func (l *Local) names(dir string) []string {
	var f *os.File
	var err error
	if l.root == nil {
		f, err = os.Open(dir)
	} else {
		rel, _ := l.root.rel(dir)
		f, err = l.root.root.Open(rel)
	}
	if err != nil {
		return nil
	}
	defer f.Close()
	names, err := f.Readdirnames(mostNames)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	return names
}

// nearest returns the names that are most like a name, the nearest first.
func nearest(name string, names []string) []string {
	type rated struct {
		name string
		far  int
	}
	var all []rated
	for _, other := range names {
		if far, ok := distance(strings.ToLower(name), strings.ToLower(other)); ok {
			all = append(all, rated{other, far})
		}
	}
	slices.SortFunc(all, func(a, b rated) int { return cmp.Or(a.far-b.far, strings.Compare(a.name, b.name)) })
	near := make([]string, 0, mostNearest)
	for _, r := range all[:min(len(all), mostNearest)] {
		near = append(near, r.name)
	}
	return near
}

// distance returns how many letters differ in two names, or false if they are not
// alike: more than a third of them do, and neither begins with the other without its
// extension.
func distance(a, b string) (int, bool) {
	if len(a) > 255 || len(b) > 255 {
		return 0, false
	}
	row := make([]int, len(b)+1)
	before := make([]int, len(b)+1) // the row before the last one
	next := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			next[j+1] = min(change, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] { // two letters are swapped
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row, next = row, next, before
	}
	far := row[len(b)]
	stem := func(s string) string { return strings.TrimSuffix(s, filepath.Ext(s)) }
	if s, t := stem(a), stem(b); len(s) > 1 && len(t) > 1 && (strings.HasPrefix(t, s) || strings.HasPrefix(s, t)) {
		return min(far, 3), true
	}
	return far, far*3 <= max(len(a), len(b))
}
