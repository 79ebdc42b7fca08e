package prockeep

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/internal/owndir"
)

// All keepers of a directory append to one file, "ids", and everybody reads it. The
// order of its lines decides which keeper may run an ID: a start counts if no earlier
// line has the ID and if its keeper is the newest one at that point of the file. As
// every reader applies the same rule to the same lines, all of them agree, however the
// keepers are scheduled, stopped or killed.
//
// A line is appended with one write. It has a newline on either side, so that a write
// that was cut short, by a full disk or a kill, spoils no line but itself, and a
// checksum, so that what was cut doesn't count.

// The kinds of lines.
const (
	lineFile       = "file"       // the first line
	lineGeneration = "generation" // a keeper serves, and is the newest from here on
	lineStart      = "start"      // before the fork
	lineStop       = "stop"       // a stop came before the start, so the ID never runs
	lineEnd        = "end"        // nothing is left of the process
	lineForget     = "forget"     // nothing was forked
	lineGone       = "gone"       // the keeper has ended, and so have its processes
)

// A line is one line of the file. Which fields it has depends on its kind.
type line struct {
	Kind   string `json:"kind"`
	Keeper string `json:"keeper,omitempty"` // its token
	At     int64  `json:"at,omitempty"`     // in Unix milliseconds; of the file, see table.whole

	// Again marks what is written anew into a new file: a generation that doesn't become
	// the newest by it, or a start whose keeper need not be the newest. In an end it says
	// that the process was lost with its keeper.
	Again bool `json:"again,omitempty"`

	// Of a generation.
	Protocol int      `json:"protocol,omitempty"`
	PID      int      `json:"pid,omitempty"`
	Identity identity `json:"identity,omitempty"`

	// Of the file: a name that is the same in each file that takes over the IDs.
	Instance string `json:"instance,omitempty"`

	// Of an ID. Seq numbers the claims of a keeper.
	Seq     uint64          `json:"seq,omitempty"`
	Chat    string          `json:"chat,omitempty"`
	ID      string          `json:"id,omitempty"`
	Print   string          `json:"print,omitempty"` // of the request
	Lineage *osproc.Lineage `json:"lineage,omitempty"`

	// Of an end.
	Code    *int          `json:"code,omitempty"`
	Signal  string        `json:"signal,omitempty"`
	EndedBy procmgr.Cause `json:"ended_by,omitempty"`
}

func (l line) key() idKey { return idKey{l.Chat, l.ID} }

// encode returns lines as they are appended. Their IDs were checked, so JSON keeps them as
// they are.
func encode(lines ...line) (text []byte) {
	for _, l := range lines {
		data, _ := json.Marshal(l) // it has only strings and numbers
		text = fmt.Appendf(text, "\n%08x %s\n", crc32.ChecksumIEEE(data), data)
	}
	return text
}

// decode reads a line without its newlines.
func decode(text []byte) (l line, ok bool) {
	sum, data, found := bytes.Cut(text, []byte{' '})
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if !found || err != nil || crc32.ChecksumIEEE(data) != uint32(want) {
		return l, false
	}
	return l, json.Unmarshal(data, &l) == nil
}

// An idKey is an ID in its chat.
type idKey struct{ chat, id string }

// A claim is a keeper's right to run an ID.
type claim struct {
	line       // of the start or the stop
	end  *line // nil while the process may run
}

// lost reports whether the process was lost with its keeper.
func (c *claim) lost() bool { return c.end != nil && c.Kind == lineStart && c.end.Again }

func byTime(a, b *claim) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ID, b.ID))
}

// A table is what the lines of a file say together.
type table struct {
	instance    string           // see line
	newest      string           // the token of the keeper that may start processes
	generations map[string]*line // the keepers that have not ended in order
	claims      map[idKey]*claim
	live        map[idKey]*claim // those without an end
	lostAt      int64            // when the last one was lost with its keeper, in Unix milliseconds
	whole       int64            // no ID that was claimed after it is missing, in Unix milliseconds
}

func newTable() *table {
	return &table{generations: make(map[string]*line), claims: make(map[idKey]*claim), live: make(map[idKey]*claim)}
}

// add applies the next line.
func (t *table) add(l line) {
	g, c := t.generations[l.Keeper], t.claims[l.key()]
	same := c != nil && c.Keeper == l.Keeper && c.Seq == l.Seq
	switch l.Kind {
	case lineFile:
		t.instance, t.whole = l.Instance, l.At
	case lineGeneration:
		if !l.Again {
			t.newest = l.Keeper
		}
		if g == nil {
			t.generations[l.Keeper] = &l
		}
	case lineStart, lineStop:
		if c == nil && (l.Again || g != nil && l.Keeper == t.newest) { // a dead keeper claims nothing
			t.claim(l)
		}
	case lineEnd:
		if same && c.end == nil {
			t.end(c, l)
		}
	case lineForget:
		if same && c.end == nil {
			delete(t.claims, l.key())
			delete(t.live, l.key())
		}
	case lineGone:
		if g == nil {
			return
		}
		for _, c := range t.running(l.Keeper) {
			// Each has a time of its own, in the order of the file, whatever the clocks
			// of the programs say.
			at := max(l.At, t.lostAt+1)
			t.end(c, line{
				Kind: lineEnd, Keeper: l.Keeper, At: at, Again: true, Seq: c.Seq, Chat: c.Chat, ID: c.ID, EndedBy: procmgr.CauseLost,
			})
		}
		delete(t.generations, l.Keeper)
	}
}

func (t *table) claim(l line) {
	c := &claim{line: l}
	t.claims[l.key()] = c
	if l.Kind == lineStop {
		c.end = &c.line
	} else {
		t.live[l.key()] = c
	}
}

func (t *table) end(c *claim, l line) {
	delete(t.live, c.key())
	c.end = &l
	if c.lost() {
		t.lostAt = max(t.lostAt, l.At)
	}
}

// lost returns what was lost with its keeper, in the order in which that was found.
func (t *table) lost() (lost []*claim) {
	for _, c := range t.claims {
		if c.lost() {
			lost = append(lost, c)
		}
	}
	slices.SortFunc(lost, func(a, b *claim) int { return cmp.Compare(a.end.At, b.end.At) })
	return lost
}

// started returns the claims of an ID in all chats, except claims of a stop.
func (t *table) started(id string) (found []*claim) {
	for key, c := range t.claims {
		if key.id == id && c.Kind == lineStart {
			found = append(found, c)
		}
	}
	return found
}

// watched returns the keepers that one looks after: the newest all others, and each other
// one the next in the order of their tokens, as in a ring. So hundreds of keepers do not
// look at each other, and a keeper that hangs does not hide the death of another one.
func (t *table) watched(keeper string) []string {
	all := slices.Sorted(maps.Keys(t.generations))
	if keeper == t.newest || len(all) == 0 {
		return all
	}
	return []string{all[(slices.Index(all, keeper)+1)%len(all)]}
}

// running returns the claims of a keeper without an end, the oldest first.
func (t *table) running(keeper string) []*claim {
	return t.liveClaims(func(c *claim) bool { return c.Keeper == keeper })
}

// liveClaims returns the claims without an end for which match reports true, the oldest
// first.
func (t *table) liveClaims(match func(c *claim) bool) []*claim {
	own := slices.Collect(maps.Values(t.live))
	own = slices.DeleteFunc(own, func(c *claim) bool { return !match(c) })
	slices.SortFunc(own, byTime)
	return own
}

// maxTombstones is how many ended IDs a new file has at most, as many as a Local keeps.
const maxTombstones = 16384

// missing returns the lines that a file with the lines of t lacks to say what another
// table says. It leaves out the oldest of more than maxTombstones ended IDs. The other
// table without them is whole from a later time on.
func (t *table) missing(other *table) (lines []line, whole int64) {
	whole = other.whole
	for token, g := range other.generations {
		if t.generations[token] == nil {
			again := *g
			again.Again = token != other.newest || t.newest != ""
			lines = append(lines, again)
		}
	}
	ended := len(other.claims) - len(other.live)
	for _, c := range slices.SortedFunc(maps.Values(other.claims), byTime) {
		if c.end != nil {
			if ended--; ended >= maxTombstones {
				whole = max(whole, c.At)
				continue
			}
		}
		now := t.claims[c.key()]
		if now == nil {
			again := c.line
			again.Again = true
			lines = append(lines, again)
		}
		same := now == nil || now.Keeper == c.Keeper && now.Seq == c.Seq && now.end == nil
		if same && c.end != nil && c.Kind == lineStart {
			lines = append(lines, *c.end)
		}
	}
	return lines, whole
}

// An idFile is the file "ids" of a directory, as far as it was read. It is not safe for
// concurrent use.
//
// Every writer, even a keeper that is stopped, holds a shared lock on the file as long
// as it has the file open. So once a program has the exclusive lock, no other program
// can append.
type idFile struct {
	path   string
	writes bool
	file   *os.File // nil before there is one
	off    int64    // what was read
	base   int64    // how much of it was there when the file was opened
	table
}

const nameIDs = "ids"

// newIDFile returns the file of a directory, for appending or only for reading. It opens
// nothing so far.
func newIDFile(dir string, writes bool) *idFile {
	return &idFile{path: filepath.Join(dir, nameIDs), writes: writes, table: *newTable()}
}

// refresh reads what was appended, and reads everything if another file has taken the
// place. If there is none, the error is [fs.ErrNotExist], and the table has what keepers
// may have written since it was removed.
func (f *idFile) refresh() error {
	if f.current() {
		return f.read()
	}
	next, err := f.open()
	if errors.Is(err, fs.ErrNotExist) && f.file != nil {
		return errors.Join(f.read(), err)
	}
	if err != nil {
		return xerrors.Errorf("%s cannot be opened: %w", nameIDs, err)
	}
	return f.turnTo(next)
}

// current reports whether the file at the path is the one that was opened.
func (f *idFile) current() bool {
	if f.file == nil {
		return false
	}
	own, err := f.file.Stat()
	return err == nil && isAt(f.path, own)
}

// open opens the file at the path, for a writer with its lock.
func (f *idFile) open() (*os.File, error) {
	if !f.writes {
		return os.OpenFile(f.path, os.O_RDONLY, 0)
	}
	for {
		next, err := os.OpenFile(f.path, os.O_RDWR|os.O_APPEND, 0)
		if err != nil {
			return nil, err
		}
		err = lockShared(next)
		if own, failed := next.Stat(); err == nil && failed == nil && isAt(f.path, own) {
			return next, nil
		}
		next.Close()
		if err != nil {
			return nil, err
		}
	}
}

// turnTo goes on with another file.
func (f *idFile) turnTo(next *os.File) error {
	f.close()
	f.file, f.off, f.table = next, 0, *newTable()
	err := f.read()
	f.base = f.off
	return err
}

func (f *idFile) close() {
	if f.file != nil {
		_ = f.file.Close() // nothing is buffered
		f.file = nil
	}
}

// read applies all new whole lines.
func (f *idFile) read() error {
	info, err := f.file.Stat()
	if err != nil || info.Size() <= f.off {
		return err
	}
	rest := make([]byte, info.Size()-f.off)
	n, err := f.file.ReadAt(rest, f.off)
	if err != nil && !errors.Is(err, io.EOF) {
		return xerrors.Errorf("%s cannot be read: %w", nameIDs, err)
	}
	rest = rest[:n]
	for {
		text, after, ended := bytes.Cut(rest, []byte{'\n'})
		if !ended {
			return nil // the rest is being written, or was cut
		}
		f.off, rest = f.off+int64(len(text))+1, after
		if l, ok := decode(text); ok {
			f.add(l)
		}
	}
}

// join does the same as refresh for a writer, and makes the file if there is none. If this
// program knows of lines in an earlier file that the new one lacks, it appends them.
func (f *idFile) join() error {
	for range 100 { // a keeper may make the file, and somebody remove it, at each turn
		was, before := f.file, f.table
		err := f.refresh()
		if errors.Is(err, fs.ErrNotExist) {
			before = f.table
			var next *os.File
			if next, err = f.make(os.Link, time.Now()); errors.Is(err, fs.ErrExist) {
				continue
			}
			if err == nil {
				err = f.turnTo(next)
			}
		}
		if err != nil || f.file == was {
			return err
		}
		lines, _ := f.missing(&before)
		if err = f.append(lines...); err != nil { // on a full disk: the next call tries again
			f.close()
			f.table = before
		}
		return err
	}
	return xerrors.Errorf("%s is removed again and again", f.path)
}

// make puts a file at the path that says what the table says, and returns it locked.
// place is os.Link or os.Rename. IDs that were claimed before whole may be missing.
func (f *idFile) make(place func(from, to string) error, whole time.Time) (*os.File, error) {
	lines, since := newTable().missing(&f.table)
	first := line{Kind: lineFile, Instance: cmp.Or(f.instance, owndir.Name()), At: max(since, whole.UnixMilli())}
	if err := makeDir(filepath.Dir(f.path)); err != nil {
		return nil, err
	}
	temp := f.path + "." + owndir.Name()
	next, err := os.OpenFile(temp, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(temp) }() // it may have been renamed
	if _, err = next.Write(encode(append([]line{first}, lines...)...)); err == nil {
		err = lockShared(next)
	}
	if err == nil {
		err = place(temp, f.path)
	}
	if err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

// append appends lines, and reads to the end of the file.
func (f *idFile) append(lines ...line) error {
	if _, err := f.file.Write(encode(lines...)); err != nil {
		return xerrors.Errorf("%s cannot be written: %w", nameIDs, err)
	}
	return f.read()
}

// compactLarge compacts a file that has grown by 8 MiB and by what it had.
func (f *idFile) compactLarge() error {
	if f.off < 2*f.base+8<<20 {
		return nil
	}
	return f.compact()
}

// compact replaces the file by one without the oldest ended IDs, unless another program
// has it open for appending. A program that opens it meanwhile waits for the lock, and
// then opens the new one.
func (f *idFile) compact() error {
	if !lockExclusive(f.file) {
		return lockShared(f.file) // the attempt has given it up
	}
	err := f.read()
	var next *os.File
	if err == nil {
		next, err = f.make(os.Rename, time.Time{})
	}
	if err != nil {
		return errors.Join(err, lockShared(f.file))
	}
	return f.turnTo(next)
}
