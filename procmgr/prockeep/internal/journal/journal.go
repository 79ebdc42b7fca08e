package journal

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/xerrors"
)

// few is the number of dead lines at which a journal is not written anew yet.
const few = 1000

// large is how many bytes dead lines may have before a journal is written anew,
// however few they are: a line has a whole command.
const large = 4 << 20

// again is how long a journal waits until it tries once more to write what did
// not fit on the disk.
const again = 500 * time.Millisecond

// newSuffix is at the end of the path of a journal that is being written anew.
const newSuffix = ".new"

// A Journal is open for lines. It is safe for concurrent use.
type Journal struct {
	path  string
	found []Entry
	doubt bool

	mu     sync.Mutex // guards the fields below
	file   *os.File
	info   fs.FileInfo // of file
	follow func(*os.File)
	size   int64
	number uint64 // of the next line
	lines  int
	living map[Key]*place
	lives  int64 // the length of the lines in living
	// patience is the size below which it is not written anew, because that has
	// just failed.
	patience int64
	late     []line // that could not be written; the first of them comes first
	retry    *time.Timer
	closed   bool
	// removed says that the path may be another journal's.
	removed bool
}

// A place is where the last line of a process begins, and its length.
type place struct {
	at     int64
	length int
}

// Open opens the journal at a path, and makes it if it is not there. A journal
// that cannot be read is an error; one that is damaged is not. No other program can
// open it until this one closes it or ends.
func Open(path string) (*Journal, error) { return open(path, os.O_CREATE, lockTime) }

// lockTime is how long Open waits for a keeper that is about to end, or for a child
// of one that is dead, which has not reached its exec.
const lockTime = 2 * time.Second

// Resume is Open for a journal that must be there already: if it is not, the error
// matches [fs.ErrNotExist]. If another program has it, the error is [ErrLocked] at
// once.
func Resume(path string) (*Journal, error) { return open(path, 0, 0) }

// ErrLocked is the error of a journal that another program has.
var ErrLocked = errors.New("another program has it")

func open(path string, flag int, patience time.Duration) (*Journal, error) {
	file, info, err := openLocked(path, flag, patience)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		file.Close()
		return nil, xerrors.Errorf("the journal cannot be read: %w", err)
	}
	j := &Journal{path: path, file: file, info: info, living: make(map[Key]*place)}
	whole, damaged := j.read(text)
	j.size = int64(len(text))
	if whole < len(text) {
		if err := j.file.Truncate(int64(whole)); err != nil {
			j.file.Close()
			return nil, xerrors.Errorf("the journal cannot be mended: %w", err)
		}
		j.size = int64(whole)
	}
	if damaged || j.lines-len(j.living) > len(j.living) {
		// If the disk is full, it is written anew later.
		_ = j.compact()
	}
	return j, nil
}

// openLocked opens the file and locks it. If another program has replaced the file
// meanwhile, it opens that one.
func openLocked(path string, flag int, patience time.Duration) (*os.File, fs.FileInfo, error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|flag, 0o600)
		if err != nil {
			return nil, nil, xerrors.Errorf("the journal cannot be opened: %w", err)
		}
		if err := lock(file, patience); err != nil {
			file.Close()
			return nil, nil, err
		}
		if opened, err := file.Stat(); err == nil && isAt(path, opened) {
			return file, opened, nil
		}
		file.Close()
	}
}

// isAt reports whether a file is at a path.
func isAt(path string, info fs.FileInfo) bool {
	now, err := os.Stat(path)
	return err == nil && os.SameFile(now, info)
}

// There reports whether the file is still at its path.
func (j *Journal) There() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.removed || j.closed || isAt(j.path, j.info)
}

// Return writes the file anew if it is not at its path any more. If that is another
// program's journal by now, the error matches [ErrLocked].
func (j *Journal) Return() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.removed || j.closed || isAt(j.path, j.info) {
		return nil
	}
	if other, err := os.OpenFile(j.path, os.O_RDWR, 0); err == nil {
		defer other.Close() // not before it was replaced: nobody opens it meanwhile
		if err := lock(other, 0); err != nil {
			return err
		}
	}
	return j.compact()
}

// Follow calls a function with the file, now and whenever that is written anew. The
// lock is not that of the file which the function gets; it is closed afterwards.
func (j *Journal) Follow(do func(*os.File)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.follow = do
	j.followed()
}

// followed calls the function of Follow. The caller holds mu.
func (j *Journal) followed() {
	if j.follow == nil {
		return
	}
	if f, err := os.Open(j.path); err == nil {
		j.follow(f)
		f.Close()
	}
}

// Copy lets a path have a journal of which the file is still open, unless there is
// one.
func Copy(path string, from *os.File) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	next := path + newSuffix
	to, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, io.NewSectionReader(from, 0, math.MaxInt64))
	if closed := to.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(next, path)
	}
	return err
}

// read fills in what a file has. It returns the length of the text without a torn
// line at its end, and whether a line is damaged.
func (j *Journal) read(text []byte) (whole int, damaged bool) {
	last := make(map[Key]*Entry)
	var at int64
	note := func(l line, length int) {
		key := l.Key
		before := last[key]
		switch {
		case l.Kind.last() && !l.Damaged:
			delete(last, key)
			j.unplace(key)
			return
		case l.Kind.last(): // the line may be one that was never written whole
			if before != nil {
				before.Damaged = true
			}
			return
		case l.Damaged && before != nil && len(l.Record) == 0:
			l.Record = before.Record
		}
		last[key] = &l.Entry
		j.place(key, at, length)
	}
	for rest := text; len(rest) > 0; {
		one, after, ended := bytes.Cut(rest, []byte{'\n'})
		if !ended && torn(one) {
			break
		}
		whole += len(one)
		if ended {
			whole++
		}
		l, known, ok := parse(one)
		if known {
			j.doubt = j.doubt || l.number != j.number // lines are missing, or are of another file
			j.number = max(j.number, l.number+1)
			note(l, len(one)+1)
		} else {
			j.doubt = true
		}
		damaged = damaged || !ok
		j.lines++
		at, rest = int64(whole), after
	}
	for _, e := range last {
		j.found = append(j.found, *e)
	}
	slices.SortFunc(j.found, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Chat+" "+a.ID, b.Chat+" "+b.ID))
	})
	return whole, damaged
}

// Found returns what the file had when it was opened, in the order of the starts.
// The caller takes it: a second call returns nil.
func (j *Journal) Found() []Entry {
	found := j.found
	j.found = nil
	return found
}

// Doubt reports whether the file may have had processes which Found lacks,
// because lines of it were damaged or lost.
func (j *Journal) Doubt() bool { return j.doubt }

// Append writes a line. If it returns nil, the line survives this program; if it
// returns an error, the line is not there. Lines that were put off go first.
func (j *Journal) Append(kind Kind, key Key, record []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.catchUp(); err != nil {
		return err
	}
	return j.write(line{Entry: Entry{Key: key, Kind: kind, Record: record}})
}

// Tell is Append for what has happened already. If the line cannot be written, it
// is put off until there is room on the disk.
func (j *Journal) Tell(kind Kind, key Key, record []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	l := line{Entry: Entry{Key: key, Kind: kind, Record: record}}
	if j.catchUp() == nil && j.write(l) == nil || j.closed {
		return
	}
	l.Record = bytes.Clone(record)
	j.late = append(j.late, l)
	if j.retry == nil {
		j.retry = time.AfterFunc(again, j.tryAgain)
	} else {
		j.retry.Reset(again)
	}
}

// tryAgain is called by the timer.
func (j *Journal) tryAgain() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.catchUp() != nil && !j.closed {
		j.retry.Reset(again)
	}
}

// TakeLate returns the lines that were put off, for a keeper that goes on without
// this Journal.
func (j *Journal) TakeLate() []Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := make([]Entry, len(j.late))
	for i, l := range j.late {
		all[i] = l.Entry
	}
	j.late = nil
	return all
}

// Late returns the number of lines that were put off.
func (j *Journal) Late() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.late)
}

// catchUp writes the lines that were put off. The caller holds mu.
func (j *Journal) catchUp() error {
	for len(j.late) > 0 {
		if err := j.write(j.late[0]); err != nil {
			return err
		}
		j.late = j.late[1:]
	}
	return nil
}

// write writes one line. The caller holds mu.
func (j *Journal) write(l line) error {
	if j.closed {
		return fs.ErrClosed
	}
	l.number = j.number
	text := l.encode()
	if n, err := j.file.Write(text); err != nil {
		if n > 0 {
			if failed := j.file.Truncate(j.size); failed != nil {
				// The next line must not go on in this one.
				j.size += int64(n)
				_, _ = j.file.Write([]byte{'\n'}) // the next line fails too
			}
		}
		return err
	}
	j.placed(&l, j.size, len(text))
	j.size += int64(len(text))
	j.number++
	j.lines++
	dead := j.lines - len(j.living)
	if (dead > few && dead > len(j.living) || j.size-j.lives > large && j.size > 2*j.lives) && j.size >= j.patience {
		if j.compact() != nil { // the old file still has all of it
			j.patience = j.size + large
		}
	}
	return nil
}

func (j *Journal) placed(l *line, at int64, length int) {
	if l.Kind.last() {
		j.unplace(l.Key)
		return
	}
	j.place(l.Key, at, length)
}

func (j *Journal) place(key Key, at int64, length int) {
	j.lives += int64(length)
	if p := j.living[key]; p != nil {
		j.lives -= int64(p.length)
		*p = place{at, length}
		return
	}
	j.living[key] = &place{at, length}
}

func (j *Journal) unplace(key Key) {
	if p := j.living[key]; p != nil {
		j.lives -= int64(p.length)
		delete(j.living, key)
	}
}

// compact writes a new file with the living lines, which takes the place of the
// old one. If it fails, the old file stays. The caller holds mu, or nobody else
// has the journal.
func (j *Journal) compact() (err error) {
	if j.removed {
		return nil
	}
	next := j.path + newSuffix
	f, err := os.OpenFile(next, os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			_ = os.Remove(next) // the next attempt begins it anew
		}
	}()
	damaged := make(map[Key]Entry)
	for _, e := range j.found {
		if e.Damaged {
			damaged[e.Key] = e
		}
	}
	first := uint64(0)
	if j.doubt {
		first = 1 // whoever opens this one must be in doubt, too
	}
	keys := slices.SortedFunc(maps.Keys(j.living), func(a, b Key) int { return int(j.living[a].at - j.living[b].at) })
	places := make(map[Key]*place, len(keys))
	var buffer []byte
	var written int64
	flush := func() error {
		n, err := f.Write(buffer)
		written += int64(n)
		buffer = buffer[:0]
		return err
	}
	for i, key := range keys {
		l, err := j.at(key)
		if err != nil {
			return err
		}
		if e, ok := damaged[key]; ok && l == nil {
			l = &line{Entry: e}
		}
		if l == nil {
			return xerrors.New("a line of the journal has changed")
		}
		l.number = first + uint64(i)
		text := l.encode()
		places[key] = &place{written + int64(len(buffer)), len(text)}
		if buffer = append(buffer, text...); len(buffer) > 64<<10 {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	if err := lock(f, lockTime); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := os.Rename(next, j.path); err != nil {
		return err
	}
	_ = j.file.Close() // it has been read
	defer j.followed()
	j.info, j.file, j.size, j.lives, j.living = info, f, written, written, places
	j.patience = 0
	j.number, j.lines = first+uint64(len(keys)), len(keys)
	return nil
}

// at reads the last line of a process. It returns nil if that is damaged.
func (j *Journal) at(key Key) (*line, error) {
	p := j.living[key]
	text := make([]byte, p.length)
	if _, err := j.file.ReadAt(text, p.at); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	l, _, ok := parse(bytes.TrimSuffix(text, []byte{'\n'}))
	if !ok || l.Key != key {
		return nil, nil //nolint:nilnil // it is damaged, which is no error here
	}
	return &l, nil
}

// Close closes the file.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil
	}
	_ = j.catchUp() // it is the last time
	j.closed = true
	if j.retry != nil {
		j.retry.Stop()
	}
	return j.file.Close()
}

// Move gives the file another name, in the same directory. Another program can
// begin a new journal under the old one at once.
func (j *Journal) Move(path string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !isAt(j.path, j.info) { // what is there is somebody else's
		j.path = path
		return j.compact()
	}
	if err := os.Rename(j.path, path); err != nil {
		return err
	}
	j.path = path
	return nil
}

// Remove removes the file: nothing of it is needed any more. Another program can
// begin a new journal at once. Lines can be written until Close, for nobody.
func (j *Journal) Remove() (err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.removed = true
	if !isAt(j.path, j.info) {
		return nil
	}
	for _, path := range []string{j.path, j.path + newSuffix} {
		if failed := os.Remove(path); failed != nil && !errors.Is(failed, fs.ErrNotExist) {
			err = failed
		}
	}
	return err
}
