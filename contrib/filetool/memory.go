package filetool

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/toolproc/toolproc/contrib/filetool/procfile"
)

const (
	// mostFiles is how many files a Set remembers.
	mostFiles = 128
	// mostPaths is how many ways to name them.
	mostPaths = 1024
)

// memory has what a Set has shown or written of files.
type memory struct {
	mu    sync.Mutex        // guards the fields below
	where map[string]string // the path of a file by a path of a call
	files map[string]*file  // by their paths
	order []string          // their paths, the most recently shown last
}

// A file is what is remembered of one.
type file struct {
	procfile.FileInfo
	seen  int64 // how many lines were shown from the first one on, each with all of its bytes
	whole bool  // the model knows all of it
}

// saw remembers what a result shows of a file. whole says that the model knows all of it.
func (m *memory) saw(asked string, i procfile.FileInfo, whole bool, hunks ...procfile.Hunk) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.name(asked, i.Path)
	m.name(i.Path, i.Path)
	if m.files == nil {
		m.files = make(map[string]*file)
	}
	f := m.files[i.Path]
	if f == nil || f.Version != i.Version {
		f = &file{}
		m.files[i.Path] = f
	}
	f.FileInfo = i
	for _, h := range hunks {
		f.add(h)
	}
	f.whole = f.whole || whole || i.Total == 0 || f.seen == i.Total
	m.order = append(slices.DeleteFunc(m.order, func(other string) bool { return other == i.Path }), i.Path)
	if len(m.order) > mostFiles {
		delete(m.files, m.order[0])
		m.order = m.order[1:]
	}
}

// add adds a part of the file, if it follows what was shown before.
func (f *file) add(h procfile.Hunk) {
	cut := func(l procfile.Line) bool { return l.Cut > 0 || strings.ContainsRune(l.Text, '\ufffd') }
	if h.From <= f.seen+1 && !slices.ContainsFunc(h.Lines, cut) {
		f.seen = max(f.seen, h.From+int64(len(h.Lines))-1)
	}
}

// name remembers which file a path of a call means. The caller holds mu.
func (m *memory) name(asked, path string) {
	if m.where == nil || len(m.where) >= mostPaths {
		m.where = make(map[string]string)
	}
	m.where[filepath.Clean(asked)] = path
}

// forget forgets the file that a path of a call means.
func (m *memory) forget(asked string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	path := m.where[filepath.Clean(asked)]
	delete(m.files, path)
	m.order = slices.DeleteFunc(m.order, func(other string) bool { return other == path })
}

// of returns what is remembered of the file that a path of a call means, or nil. certain
// is false if another path of the same file may have been used before.
func (m *memory) of(asked string) (f *file, certain bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	path, named := m.where[filepath.Clean(asked)]
	if f := m.files[path]; f != nil {
		known := *f
		return &known, true
	}
	return nil, named || len(m.files) == 0
}

// known returns what the Set knows of a file, or nil.
func (s *Set) known(ctx context.Context, asked string) *file {
	f, certain := s.memory.of(asked)
	if f == nil && !certain {
		// The file may have been read by another name.
		res, err := s.files.Read(ctx, procfile.ReadRequest{Path: asked, Limit: 1})
		if err != nil {
			return nil // whatever it is, the write says it
		}
		s.memory.mu.Lock()
		s.memory.name(asked, res.Path)
		s.memory.mu.Unlock()
		f, _ = s.memory.of(asked)
	}
	return f
}
