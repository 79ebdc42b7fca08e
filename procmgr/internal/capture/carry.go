package capture

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"unicode/utf8"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/charset"
	"github.com/toolproc/toolproc/procmgr/internal/owndir"
	"github.com/toolproc/toolproc/procmgr/internal/redact"
)

// A State is a stream to which nothing is added any more, for another program
// that goes on with it.
type State struct {
	Window []byte `json:"-"` // of the headtail.Buffer
	Plain  []byte `json:"plain,omitempty"`
	// Decode is nil if output is UTF-8.
	Decode *charset.State `json:"decode,omitempty"`
	// Mask may have a part of a secret in it: a State is for memory alone.
	Mask  *redact.State `json:"mask,omitempty"`
	Ended bool          `json:"ended,omitempty"`
	// Lost is an offset plus 1 if output was lost that ends there, and nobody knows
	// how much it was: no offset counts it. 0: there is none.
	Lost   int64         `json:"lost,omitempty"`
	Last   []byte        `json:"last,omitempty"`
	Log    *LogState     `json:"log,omitempty"`
	Notice *MatcherState `json:"notice,omitempty"` // nil if there is none, or if it has matched
}

// A LogMemo tells where a log is, and which file it is.
type LogMemo struct {
	Dir  string `json:"dir"`
	Name string `json:"name"`
	Dev  uint64 `json:"dev,omitempty"`
	Ino  uint64 `json:"ino,omitempty"`
}

// A LogState is a log as it was when its stream was saved.
type LogState struct {
	LogMemo
	Size    int64  `json:"size,omitempty"`
	Failed  string `json:"failed,omitempty"`
	Retired bool   `json:"retired,omitempty"`
	Lost    bool   `json:"lost,omitempty"`
}

// A MatcherState is a Matcher that looks for the pattern of a Notify.
type MatcherState struct {
	At      int64  `json:"at,omitempty"`
	Start   int64  `json:"start,omitempty"`
	Line    []byte `json:"line,omitempty"`
	Shown   []byte `json:"shown,omitempty"`
	Skipped int64  `json:"skipped,omitempty"`
}

// Save returns the state of a stream to which nothing is added any more. It waits
// until all text is searched.
func (s *Stream) Save() State {
	s.writing.Lock() // letGo may be at work
	defer s.writing.Unlock()
	if s.filter != nil {
		s.put(nil, idle) // no timer of the next program would let go of it
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.search.awaitEnd()
	state := State{Ended: s.ended, Last: s.last, Lost: s.lost}
	state.Window, _ = s.buf.MarshalBinary() // never fails
	if s.clean != nil {
		state.Plain, _ = s.clean.MarshalBinary() // fails only if a sink fails
	}
	if s.decode != nil {
		state.Decode = &s.decode.State
	}
	if s.filter != nil {
		s.saved, state.Mask = true, &s.filter.State
	}
	if m := s.notice; m != nil {
		state.Notice = &MatcherState{At: m.at, Start: m.start, Line: m.line, Shown: m.shown, Skipped: m.skipped}
	}
	if s.log != nil {
		state.Log = s.log.save()
	}
	return state
}

// Resume makes the stream go on where another one was when its Save was called.
// It is called at most once, and before LogTo, Notify and Add. logs is nil if the
// Local has none.
func (s *Stream) Resume(state *State, logs *Logs) error {
	if err := s.buf.UnmarshalBinary(state.Window); err != nil {
		return err
	}
	s.ended, s.last, s.lost = state.Ended, state.Last, state.Lost
	if s.ended {
		s.clean = nil
	} else if s.clean != nil {
		if err := s.clean.UnmarshalBinary(state.Plain); err != nil {
			return err
		}
	}
	if s.decode != nil && state.Decode != nil {
		s.decode.State = *state.Decode
	}
	if s.filter != nil && state.Mask != nil {
		s.filter.State = *state.Mask
	}
	if state.Log != nil && logs != nil {
		s.log = logs.resume(state.Log, s.ended)
	}
	s.comeBack()
	return nil
}

// ResumeNotify is Notify for the matcher of another program, which has seen the
// output so far.
func (s *Stream) ResumeNotify(m *Matcher, state *MatcherState, f func(line string)) {
	m.at, m.start, m.line, m.shown, m.skipped = state.At, state.Start, state.Line, state.Shown, state.Skipped
	s.Notify(m, f)
}

// Recover makes a stream of the log that another program has left: the text as
// far as it got there, total bytes if that is more. If total is negative, nobody
// knows it. lost is the Lost of that program's stream. Recover is called in place
// of Resume. If ended is set, nothing will be added.
func (s *Stream) Recover(log *LogMemo, logs *Logs, total, lost int64, ended bool) {
	if log != nil && logs != nil {
		s.log = logs.resume(&LogState{LogMemo: *log, Size: -1}, false)
		size := s.log.length()
		head := s.log.read(0, min(size, int64(s.opts.Head)))
		tail := s.log.read(max(size-int64(s.opts.Tail), int64(len(head))), int64(s.opts.Tail))
		_, _ = s.buf.Write(head) // never fails
		s.buf.Skip(size - int64(len(head)) - int64(len(tail)))
		_, _ = s.buf.Write(tail)
		s.last = append([]byte(nil), tail[max(0, len(tail)-utf8.UTFMax):]...)
		if (size < total || total < 0 || lost > 0) && s.log.failed == "" {
			s.log.fail("the program that wrote it has ended")
		}
	}
	if s.filter != nil {
		s.filter.Cut = true
	}
	s.buf.Skip(max(total-s.buf.Total(), 0))
	if s.lost = lost; total < 0 {
		s.lost = s.buf.Total() + 1
	}
	if ended {
		s.ended, s.clean = true, nil
		_ = s.buf.Close()
		if s.log != nil {
			s.log.end()
		}
	}
	s.comeBack()
}

// Lost returns the Lost of a State.
func (s *Stream) Lost() int64 { return s.lost }

// comeBack counts the output that a stream has from another program.
func (s *Stream) comeBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	more := s.keeps() - s.held
	s.held += more
	s.opts.Memory.Add(more)
	if s.tally != nil {
		s.tally.Counted(s.buf.Total(), s.waiting())
	}
}

// LogMemo returns where the stream's log is; nil if it has none.
func (s *Stream) LogMemo() *LogMemo {
	if s.log == nil || s.log.path == "" {
		return nil
	}
	memo := s.log.memo()
	return &memo
}

func (g *logFile) memo() LogMemo {
	g.mu.Lock()
	file, info := g.file, g.info
	g.mu.Unlock()
	if file != nil {
		info, _ = file.Stat()
	}
	memo := LogMemo{Dir: filepath.Dir(g.path), Name: g.name}
	if info != nil {
		memo.Dev, memo.Ino = identityOf(info)
	}
	return memo
}

func (g *logFile) save() *LogState {
	state := &LogState{Failed: g.failed}
	if g.path != "" {
		state.LogMemo = g.memo()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	state.Size, state.Retired, state.Lost = g.size, g.retired, g.lost
	return state
}

// resume returns the log that another program has written. If its Size is
// negative, it is as long as its file. ended is set if nothing will be added.
func (l *Logs) resume(state *LogState, ended bool) *logFile {
	in := l.current()
	g := &logFile{logs: l, root: in.root, name: state.Name, size: max(state.Size, 0), failed: state.Failed, retired: state.Retired, lost: state.Lost}
	if state.Name == "" {
		return g
	}
	g.path = filepath.Join(state.Dir, state.Name)
	if g.retired {
		return g
	}
	flags := os.O_RDWR
	if ended {
		flags = os.O_RDONLY
	}
	file, err := in.root.OpenFile(state.Name, flags|openNow, 0)
	if err == nil {
		if g.info, err = file.Stat(); err == nil {
			if dev, ino := identityOf(g.info); state.Dir != in.dir.Path || dev != state.Dev || ino != state.Ino {
				err = fs.ErrNotExist // somebody has put another file in its place
			}
		}
		if err != nil {
			file.Close()
		}
	}
	if err != nil {
		// The bytes that it has cannot be read any more.
		g.lost, g.info = true, nil
		if g.failed == "" && !ended {
			g.failed = "its file has been removed"
		}
		return g
	}
	if state.Size < 0 {
		g.size = g.info.Size()
		if g.size >= l.opts.Max {
			g.failed = "it ends after " + strconv.FormatInt(g.size, 10) + " bytes, the limit of a log"
		}
	}
	l.total.Add(g.size)
	if ended {
		file.Close()
	} else {
		g.file, g.info = file, nil
	}
	return g
}

// length returns how many bytes the log has.
func (g *logFile) length() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.size
}

// LogsState is the directory of the logs, for another program.
type LogsState struct {
	Dir   string `json:"dir"`
	Named uint64 `json:"named"`
}

// Save returns the directory in use. lock is its lock: a program that has a
// duplicate of it keeps others from removing the directory.
func (l *Logs) Save() (state LogsState, lock *os.File) {
	in := l.current()
	return LogsState{Dir: in.dir.Path, Named: l.named.Load()}, in.dir.Lock()
}

// Leave is Close without removing anything: another program goes on with the
// directory.
func (l *Logs) Leave() {
	l.removals.Wait()
	for _, p := range l.made {
		p.root.Close()
		p.dir.Unlock()
	}
}

// ResumeLogs is OpenLogs for the directory of another program that has ended. It
// takes over the lock; nil if it was not kept. If the directory has gone, it makes
// another one.
func ResumeLogs(opts LogOptions, state LogsState, lock *os.File) (*Logs, error) {
	dir, err := owndir.Resume(state.Dir, lock)
	if err != nil {
		opts.Logger.Warn("the log directory has gone, another one is made", slog.String("removed", state.Dir))
		return OpenLogs(opts)
	}
	root, err := os.OpenRoot(dir.Path)
	if err != nil {
		dir.Unlock()
		return nil, xerrors.Errorf("log directory: %w", err)
	}
	l := &Logs{opts: opts, parent: filepath.Dir(dir.Path), made: []place{{dir, root}}}
	l.named.Store(state.Named)
	return l, nil
}
