package capture

import (
	"errors"
	"hash/maphash"
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

// logsPrefix begins the name of the directory that each Local makes in LogOptions.Dir.
// The directory is removed when its Local has gone.
const logsPrefix = "toolproc-logs-"

// LogOptions has the directory of the logs, and how much room they may take.
type LogOptions struct {
	Dir string
	// Max bounds one log and MaxAll bounds all of them, in bytes.
	Max, MaxAll int64
	// FreeOne drops an old log, and reports whether it could.
	FreeOne func() bool
	Logger  *slog.Logger
}

// Logs has the logs of one Local, in a directory of their own.
type Logs struct {
	opts   LogOptions
	parent string // absolute

	total atomic.Int64 // bytes of all logs that exist
	named atomic.Uint64

	removals sync.WaitGroup
	mu       sync.Mutex // guards closed, and that removals does not grow once it is set
	closed   bool

	opening sync.Mutex // guards made
	made    []place    // the last one is in use; the others were removed by somebody else
}

// A place is a directory for logs. Every file is opened through root: whatever
// becomes of the names above it, nothing outside is touched.
type place struct {
	dir  *owndir.Dir
	root *os.Root // of dir
}

// OpenLogs makes the directory of a Local, and removes the directories that
// killed Locals have left beside it.
func OpenLogs(opts LogOptions) (*Logs, error) {
	parent, err := filepath.Abs(opts.Dir)
	if err != nil {
		return nil, xerrors.Errorf("log directory: %w", err)
	}
	l := &Logs{opts: opts, parent: parent}
	if info, err := os.Stat(parent); err == nil && othersCanWrite(info) {
		return nil, xerrors.Errorf("log directory %s: others can write to it, make it 0700: %w", parent, sentinel.ErrInvalid)
	}
	if err := l.makePlace(); err != nil { // as it is not there yet, or cannot be looked at
		return nil, xerrors.Errorf("log directory: %w", err)
	}
	for path := range owndir.Abandoned(parent, logsPrefix) {
		if err := os.RemoveAll(path); err == nil {
			opts.Logger.Info("logs of a dead host removed", slog.String("path", path))
		}
	}
	return l, nil
}

// makePlace makes a directory and uses it from now on.
func (l *Logs) makePlace() error {
	if err := os.MkdirAll(l.parent, 0o700); err != nil {
		return err
	}
	dir, err := owndir.Make(l.parent, logsPrefix, 0o700)
	if err != nil {
		return xerrors.Errorf("%s: %w", l.parent, err)
	}
	root, err := os.OpenRoot(dir.Path)
	if err != nil {
		dir.Unlock()
		return err
	}
	l.made = append(l.made, place{dir, root})
	return nil
}

// Close removes the directories.
func (l *Logs) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.removals.Wait()
	l.opening.Lock()
	defer l.opening.Unlock()
	for _, p := range l.made {
		p.root.Close()
		_ = os.RemoveAll(p.dir.Path) // on an error the next Local removes it
		p.dir.Unlock()
	}
}

// open makes the log of one process. If it cannot, the log says why.
func (l *Logs) open() *logFile {
	// The name says nothing about the process: callers choose the IDs.
	name := strconv.FormatUint(l.named.Add(1), 10) + "-" + owndir.Name() + ".log"
	in, file, err := l.create(name)
	if err != nil {
		return &logFile{logs: l, failed: "no log: " + cause(err)}
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		_ = in.root.Remove(name)
		return &logFile{logs: l, failed: "no log: " + cause(err)}
	}
	return &logFile{logs: l, root: in.root, name: name, path: filepath.Join(in.dir.Path, name), file: file, info: info}
}

// create makes a file. If the directory in use has been removed, it makes another one: a
// command that cleans up may remove everything that it finds.
func (l *Logs) create(name string) (in place, file *os.File, err error) {
	const flags = os.O_CREATE | os.O_EXCL | os.O_RDWR
	l.opening.Lock()
	defer l.opening.Unlock()
	in = l.made[len(l.made)-1]
	file, err = in.root.OpenFile(name, flags, 0o600)
	if !errors.Is(err, fs.ErrNotExist) {
		return in, file, err
	}
	if err := l.makePlace(); err != nil {
		return place{}, nil, err
	}
	now := l.made[len(l.made)-1]
	l.opts.Logger.Warn("the log directory was removed, another one was made",
		slog.String("removed", in.dir.Path), slog.String("path", now.dir.Path))
	file, err = now.root.OpenFile(name, flags, 0o600)
	return now, file, err
}

// reserve takes bytes of the quota of all logs. It may drop other logs for
// that.
func (l *Logs) reserve(n int64) bool {
	for l.total.Add(n) > l.opts.MaxAll {
		l.total.Add(-n)
		if !l.opts.FreeOne() {
			return false
		}
	}
	return true
}

// remove unlinks a file. Its caller does not wait for that.
func (l *Logs) remove(root *os.Root, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return // the whole directory goes
	}
	l.removals.Go(func() { _ = root.Remove(name) }) // Close waits, and removes the file if this fails
}

// A logFile is the log of one process. It has the bytes of the stream from the
// beginning on, so offsets are the same in both.
type logFile struct {
	logs *Logs
	root *os.Root // of the directory that the file is in
	name string
	path string
	info fs.FileInfo

	// reading is held while file is read or closed. On Windows a Close that meets a
	// ReadAt can wait for ever: os.File then loses count of its users (Go 1.26).
	reading sync.RWMutex

	mu      sync.Mutex // guards the fields below
	file    *os.File   // nil once the log has ended
	size    int64
	sum     maphash.Hash // of the bytes
	failed  string       // why the log has no more bytes, or does not exist
	retired bool         // removed, or about to be
	lost    bool         // somebody else has removed the file, or has put another one in its place
}

var errFull = errors.New("no room: all logs together have reached their limit")

// write appends bytes. If the log cannot take all of them, it ends.
func (g *logFile) write(p []byte) {
	g.mu.Lock()
	over := g.failed != "" || g.file == nil || g.retired
	file, size := g.file, g.size
	g.mu.Unlock()
	if over || len(p) == 0 {
		return
	}
	// The write does not hold mu, so a caller that asks for the process does
	// not wait for a slow disk. Only the stream's writer changes file and size.
	n, written, err := min(int64(len(p)), g.logs.opts.Max-size), 0, errFull
	if n <= 0 || g.logs.reserve(n) {
		written, err = file.WriteAt(p[:n], size)
	} else {
		n = 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.retired {
		g.logs.total.Add(-n)
		return
	}
	g.logs.total.Add(int64(written) - n)
	g.size += int64(written)
	_, _ = g.sum.Write(p[:written]) // never fails
	switch {
	case err != nil && g.size == 0:
		g.failed = "nothing could be written: " + cause(err)
	case err != nil:
		g.failed = "it ends after " + strconv.FormatInt(g.size, 10) + " bytes: " + cause(err)
	case n < int64(len(p)):
		g.failed = "it ends after " + strconv.FormatInt(g.size, 10) + " bytes, the limit of a log"
	}
}

// end closes the file: a process that has ended needs no descriptor. The
// stream's writer calls it.
func (g *logFile) end() {
	g.reading.Lock()
	defer g.reading.Unlock()
	g.mu.Lock()
	file := g.file
	g.file = nil
	g.mu.Unlock()
	if file != nil {
		file.Close()
	}
}

// tell returns the path of the log, or "" if there is none, and why the log is
// not whole.
func (g *logFile) tell() (path, failed string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.retired || g.path == "" || g.logs.gone():
		return "", g.failed
	case g.lost:
		return "", "its file has been removed"
	case g.failed != "" && g.size == 0:
		return "", g.failed // an empty file is not worth a search
	}
	return g.path, g.failed
}

// look looks whether the file is still where tell says. It may take as long as
// the disk does, so the caller holds no lock.
func (g *logFile) look() {
	g.mu.Lock()
	over := g.retired || g.path == "" || g.lost
	g.mu.Unlock()
	if over {
		return
	}
	now, err := os.Lstat(g.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && os.SameFile(now, g.info) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lost = true
}

// gone reports whether the files no longer exist.
func (l *Logs) gone() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// retire removes the log together with its record. It reports whether there was a log to remove.
func (g *logFile) retire() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.retired || g.path == "" {
		return false
	}
	g.retired = true
	g.logs.total.Add(-g.size)
	g.logs.remove(g.root, g.name)
	return true
}

// read returns up to n bytes of the stream from an offset on, or fewer if the
// log has no more.
func (g *logFile) read(from, n int64) []byte {
	p := make([]byte, max(0, min(n, g.length()-from)))
	return p[:g.readAt(p, from)]
}

// length returns how many bytes the log has.
func (g *logFile) length() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.size
}

// readAt fills p with the stream from an offset on. It returns how many bytes
// the log has of that. Like write, it holds no mu while it reads.
func (g *logFile) readAt(p []byte, from int64) int {
	g.reading.RLock()
	defer g.reading.RUnlock()
	g.mu.Lock()
	file, retired := g.file, g.retired
	n := min(int64(len(p)), g.size-from)
	g.mu.Unlock()
	if n <= 0 || retired {
		return 0
	}
	if file == nil {
		if file = g.reopen(); file == nil {
			return 0
		}
		defer file.Close()
	}
	got, err := file.ReadAt(p[:n], from)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0
	}
	return got
}

// reopen opens the file of a log that has ended. It returns nil if the file is
// not there.
func (g *logFile) reopen() *os.File {
	file, err := g.root.OpenFile(g.name, os.O_RDONLY|openNow, 0)
	if err != nil {
		return nil // the host has closed the Local, or somebody has removed the file
	}
	if now, err := file.Stat(); err != nil || !os.SameFile(now, g.info) {
		file.Close()
		return nil // somebody has put another file in its place
	}
	return file
}

// cause returns the system's words for an error, without the name of a file.
func cause(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}
