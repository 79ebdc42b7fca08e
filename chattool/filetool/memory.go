package filetool

import (
	"context"
	"path/filepath"
	"slices"
	"sync"

	"github.com/toolproc/toolproc/procmgr/procfile"
)

const (
	// mostFiles is how many files a Set remembers.
	mostFiles = 128
	// mostPaths is how many ways to name them.
	mostPaths = 1024
	// mostSeen is how many parts of a file it remembers.
	mostSeen = 8
)

// memory has what a Set has shown or written of files.
type memory struct {
	mu    sync.Mutex        // guards the fields below
	where map[string]string // the path of a file by a path of a call
	files map[string]*file  // by their paths
	order []string          // their paths, those that were shown last at the end
}

// A file is what is remembered of one.
type file struct {
	version string
	seen    []procfile.Hunk // the newest at the end
}

// saw remembers what a result shows of a file.
func (m *memory) saw(asked, path, version string, hunks []procfile.Hunk) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.name(asked, path)
	m.name(path, path)
	if m.files == nil {
		m.files = make(map[string]*file)
	}
	f := m.files[path]
	if f == nil {
		f = &file{}
		m.files[path] = f
	}
	if f.version != version {
		f.version, f.seen = version, nil
	}
	f.seen = append(f.seen, hunks...)
	f.seen = f.seen[max(len(f.seen)-mostSeen, 0):]
	m.order = append(slices.DeleteFunc(m.order, func(other string) bool { return other == path }), path)
	if len(m.order) > mostFiles {
		delete(m.files, m.order[0])
		m.order = m.order[1:]
	}
}

// name remembers which file a path of a call means. The caller holds mu.
func (m *memory) name(asked, path string) {
	if m.where == nil || len(m.where) >= mostPaths {
		m.where = make(map[string]string)
	}
	m.where[filepath.Clean(asked)] = path
}

// forget forgets a file, since it is gone.
func (m *memory) forget(path string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, path)
	m.order = slices.DeleteFunc(m.order, func(other string) bool { return other == path })
}

// of returns what is remembered of the file that a path of a call means. certain is
// false if another path of the same file may have been used before.
func (m *memory) of(asked string) (path string, f file, known, certain bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	path, certain = m.where[filepath.Clean(asked)]
	if remembered := m.files[path]; remembered != nil {
		return path, *remembered, true, true
	}
	return path, file{}, false, certain || len(m.files) == 0
}

// known returns the version that the Set has of a file, or "" if it has none.
func (s *Set) known(ctx context.Context, asked string) string {
	_, f, known, certain := s.memory.of(asked)
	if !known && !certain {
		// The file may have been read by another name.
		res, err := s.files.Read(ctx, procfile.ReadRequest{Path: asked, Limit: 1})
		if err != nil {
			return "" // whatever it is, the write says it
		}
		s.memory.mu.Lock()
		s.memory.name(asked, res.Path)
		s.memory.mu.Unlock()
		_, f, _, _ = s.memory.of(asked)
	}
	return f.version
}
