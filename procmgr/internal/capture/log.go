package capture

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/owndir"
	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// The directories that Locals make for themselves in LogOptions.Dir. What has
// the first name is removed once its Local is gone.
const (
	logsPrefix = "toolproc-logs-"
	keptPrefix = "toolproc-kept-"
)

// LogOptions says where logs are, and how much they may take.
type LogOptions struct {
	Dir  string
	Keep bool // leave them where they are
	// Max bounds one log and MaxAll all of them, in bytes.
	Max, MaxAll int64
	// FreeOne drops an old log, and reports whether it could.
	FreeOne func() bool
	Logger  *slog.Logger
}

// Logs is the directory of one Local's logs. Everything is opened through root:
// whatever becomes of the names above it, nothing outside is touched.
type Logs struct {
	opts LogOptions
	dir  *owndir.Dir
	root *os.Root // of dir

	total atomic.Int64 // bytes of all logs that are there
	named atomic.Uint64

	removals sync.WaitGroup
	mu       sync.Mutex // guards closed, and that nothing is added to removals then
	closed   bool
}

// OpenLogs makes a Local's directory, and removes what Locals that were killed
// have left beside it.
func OpenLogs(opts LogOptions) (*Logs, error) {
	parent, err := filepath.Abs(opts.Dir)
	if err != nil {
		return nil, xerrors.Errorf("log directory: %w", err)
	}
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, xerrors.Errorf("log directory: %w", err)
	}
	if info, err := os.Stat(parent); err != nil {
		return nil, xerrors.Errorf("log directory: %w", err)
	} else if othersCanWrite(info) {
		return nil, xerrors.Errorf("log directory %s: others can write to it, make it 0700: %w", parent, sentinel.ErrInvalid)
	}
	prefix := logsPrefix
	if opts.Keep {
		prefix = keptPrefix
	}
	dir, err := owndir.Make(parent, prefix, 0o700)
	if errors.Is(err, owndir.ErrRemoved) {
		return nil, xerrors.Errorf("log directory %s: %w", parent, err)
	} else if err != nil {
		return nil, xerrors.Errorf("log directory: %w", err)
	}
	root, err := os.OpenRoot(dir.Path)
	if err != nil {
		dir.Unlock()
		return nil, xerrors.Errorf("log directory: %w", err)
	}
	for path := range owndir.Abandoned(parent, logsPrefix) {
		if err := os.RemoveAll(path); err == nil {
			opts.Logger.Info("logs of a dead host removed", slog.String("path", path))
		}
	}
	return &Logs{opts: opts, dir: dir, root: root}, nil
}

// Close removes the directory, unless it is kept.
func (l *Logs) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.removals.Wait()
	l.root.Close()
	if !l.opts.Keep {
		_ = os.RemoveAll(l.dir.Path) // the next Local removes it otherwise
	}
	l.dir.Unlock()
}

// open makes the log of one process. Where it cannot, the log says why.
func (l *Logs) open() *log {
	// The name says nothing about the process: IDs are the caller's.
	name := strconv.FormatUint(l.named.Add(1), 10) + "-" + owndir.Name() + ".log"
	file, err := l.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return &log{logs: l, failed: "no log: " + cause(err)}
	}
	return &log{logs: l, name: name, path: filepath.Join(l.dir.Path, name), file: file}
}

// reserve takes bytes of the quota of all logs, of which others may have to go.
func (l *Logs) reserve(n int64) bool {
	for l.total.Add(n) > l.opts.MaxAll {
		l.total.Add(-n)
		if l.opts.Keep || !l.opts.FreeOne() {
			return false
		}
	}
	return true
}

// remove unlinks a file, off the path of whoever drops it.
func (l *Logs) remove(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return // the directory goes as a whole
	}
	l.removals.Go(func() { _ = l.root.Remove(name) }) // Close waits; what it cannot remove, Close does
}

// A log is the file of one process. Its bytes are the stream's from its
// beginning on, so that offsets are the same.
type log struct {
	logs *Logs
	name string
	path string

	mu      sync.Mutex  // guards what follows
	file    *os.File    // nil once it is closed
	info    fs.FileInfo // of the file, once it is closed
	size    int64
	failed  string // why it has no more, or is not there
	retired bool   // removed, or about to be
}

// write appends. A log that cannot take all of it ends.
func (g *log) write(p []byte) {
	g.mu.Lock()
	over := g.failed != "" || g.file == nil || g.retired
	file, size := g.file, g.size
	g.mu.Unlock()
	if over || len(p) == 0 {
		return
	}
	n := min(int64(len(p)), g.logs.opts.Max-size)
	if n > 0 && !g.logs.reserve(n) {
		g.fail(`no room: all logs together have reached their limit`)
		return
	}
	// Without mu: a slow disk holds up nobody who asks for the process. Only the
	// stream's writer changes file and size.
	written, err := file.WriteAt(p[:n], size)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.retired {
		g.logs.total.Add(-n)
		return
	}
	g.logs.total.Add(int64(written) - n)
	g.size += int64(written)
	switch {
	case err != nil:
		g.failed = "it ends after " + strconv.FormatInt(g.size, 10) + " bytes: " + cause(err)
	case n < int64(len(p)):
		g.failed = "it ends after " + strconv.FormatInt(g.size, 10) + " bytes, the limit of a log"
	}
}

func (g *log) fail(why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failed = "it ends after " + strconv.FormatInt(g.size, 10) + " bytes: " + why
}

// end closes the file: a process that has ended needs no descriptor. The stream's
// writer calls it.
func (g *log) end() {
	g.mu.Lock()
	file := g.file
	g.mu.Unlock()
	if file == nil {
		return
	}
	info, _ := file.Stat()
	g.mu.Lock()
	g.file, g.info = nil, info
	g.mu.Unlock()
	file.Close()
}

// tell returns where the log is, "" where it is not, and why it is not whole.
func (g *log) tell() (path, failed string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.retired || g.path == "" || g.logs.gone() {
		return "", g.failed
	}
	return g.path, g.failed
}

// gone reports whether the files are no longer there.
func (l *Logs) gone() bool {
	if l.opts.Keep {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// retire removes the log with its record, unless it is kept, and reports whether
// there was anything to remove.
func (g *log) retire() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.logs.opts.Keep || g.retired || g.path == "" {
		return false
	}
	g.retired = true
	g.logs.total.Add(-g.size)
	g.logs.remove(g.name)
	return true
}

// read returns up to n bytes of the stream from an offset on, fewer where the
// log has no more. It reads without mu, as write writes.
func (g *log) read(from, n int64) []byte {
	g.mu.Lock()
	file, info := g.file, g.info
	n = min(n, g.size-from)
	over := g.retired || g.path == ""
	g.mu.Unlock()
	if n <= 0 || over {
		return nil
	}
	if file == nil {
		if file = g.reopen(info); file == nil {
			return nil
		}
		defer file.Close()
	}
	p := make([]byte, n)
	got, err := file.ReadAt(p, from)
	switch {
	case errors.Is(err, fs.ErrClosed):
		return g.read(from, n) // it has ended meanwhile
	case err != nil && !errors.Is(err, io.EOF):
		return nil
	}
	return p[:got]
}

// reopen opens the file of a log that has ended; nil where it is not there.
func (g *log) reopen(info fs.FileInfo) *os.File {
	file, err := g.logs.root.OpenFile(g.name, os.O_RDONLY|openNow, 0)
	if err != nil {
		return nil // the host closed the Local, or somebody removed it
	}
	if now, err := file.Stat(); err != nil || !os.SameFile(now, info) {
		file.Close()
		return nil // somebody has put another one into its place
	}
	return file
}

// cause says what the system says, without the name of a file.
func cause(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}
