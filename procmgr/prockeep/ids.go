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
	"unicode/utf8"

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
	lineFile       = "file"       // the first line: a name for this file
	lineGeneration = "generation" // a keeper serves, and is the newest from here on
	lineStart      = "start"      // before the fork; again after it, with the PID
	lineStop       = "stop"       // a stop came before the start, so the ID never runs
	lineEnd        = "end"        // nothing is left of the process
	lineForget     = "forget"     // nothing was forked
	lineGone       = "gone"       // the keeper has ended, and so have its processes
)

// A line is one line of the file. Which fields it has depends on its kind.
type line struct {
	Kind   string `json:"kind"`
	Keeper string `json:"keeper,omitempty"` // its token, or the name of the file
	At     int64  `json:"at,omitempty"`     // in Unix milliseconds

	// Again marks what is written anew into a new file: a generation that doesn't become
	// the newest by it, or a start whose keeper need not be the newest.
	Again bool `json:"again,omitempty"`

	// Of a generation.
	Protocol int    `json:"protocol,omitempty"`
	PID      int    `json:"pid,omitempty"`
	Boot     string `json:"boot,omitempty"`

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

// encode returns the line as it is appended.
func (l line) encode() ([]byte, error) {
	if !utf8.ValidString(l.Chat) || !utf8.ValidString(l.ID) { // JSON would make two such keys alike
		return nil, xerrors.Errorf("the ID %.80q is not UTF-8: %w", l.Chat+" "+l.ID, procmgr.ErrInvalid)
	}
	data, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "\n%08x %s\n", crc32.ChecksumIEEE(data), data), nil
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
	line // of the latest start, or of the stop
	// end is nil while the process may run.
	end *line
}

// lost reports whether the process ended with its keeper.
func (c *claim) lost() bool { return c.end != nil && c.end.EndedBy == procmgr.CauseLost }

// A generation is a keeper that has not ended in order.
type generation struct {
	line
	open map[idKey]*claim // those without an end
	last int64            // when the last of the others had ended
}

// A table is what the lines of a file say together.
type table struct {
	file        string // its name
	newest      string // the token of the keeper that may start processes
	generations map[string]*generation
	claims      map[idKey]*claim
	order       []idKey             // of claims, the oldest first; it may name an ID twice
	chats       map[string][]string // the chats that have used an ID
	running     map[string]int      // the open claims of each chat
	lost        []lostID
	ended       map[string]time.Time // when the last process of each keeper that is gone had ended
	damaged     int                  // lines that do not count
}

// A lostID is an ID whose process was lost, in the order in which that was found.
type lostID struct {
	key idKey
	at  int64
}

func newTable() *table {
	return &table{
		generations: make(map[string]*generation), claims: make(map[idKey]*claim),
		chats: make(map[string][]string), running: make(map[string]int), ended: make(map[string]time.Time),
	}
}

// add applies the next line.
func (t *table) add(l line) {
	switch now := t.claims[l.key()]; l.Kind {
	case lineFile:
		t.file = l.Keeper
	case lineGeneration:
		if !l.Again {
			t.newest = l.Keeper
		}
		if t.generations[l.Keeper] == nil {
			t.generations[l.Keeper] = &generation{line: l, open: make(map[idKey]*claim)}
		}
	case lineStart, lineStop:
		switch {
		case now == nil:
			if l.Again || l.Keeper == t.newest {
				t.claim(l)
			}
		case now.Keeper == l.Keeper && now.Seq == l.Seq && now.Kind == l.Kind && l.Lineage != nil:
			now.Lineage = l.Lineage
		}
	case lineEnd:
		if now != nil && now.Keeper == l.Keeper && now.Seq == l.Seq && now.end == nil {
			t.end(now, l)
		}
	case lineForget:
		if now != nil && now.Keeper == l.Keeper && now.Seq == l.Seq && now.end == nil {
			t.close(now)
			delete(t.claims, l.key())
			t.chats[l.ID] = slices.DeleteFunc(t.chats[l.ID], func(chat string) bool { return chat == l.Chat })
		}
	case lineGone:
		if g := t.generations[l.Keeper]; g != nil {
			for _, c := range g.claims() {
				t.end(c, line{Kind: lineEnd, Keeper: l.Keeper, At: l.At, Seq: c.Seq, Chat: c.Chat, ID: c.ID, EndedBy: procmgr.CauseLost})
			}
			t.ended[l.Keeper] = time.UnixMilli(g.last)
			delete(t.generations, l.Keeper)
		}
	}
}

func (t *table) claim(l line) {
	c := &claim{line: l}
	t.claims[l.key()] = c
	t.order = append(t.order, l.key())
	t.chats[l.ID] = append(t.chats[l.ID], l.Chat)
	if l.Kind == lineStop {
		c.end = &c.line
		return
	}
	t.running[l.Chat]++
	if g := t.generations[l.Keeper]; g != nil {
		g.open[l.key()] = c
	}
}

func (t *table) end(c *claim, l line) {
	if g := t.generations[c.Keeper]; g != nil && l.EndedBy != procmgr.CauseLost {
		g.last = max(g.last, l.At)
	}
	t.close(c)
	c.end = &l
	if c.lost() {
		t.lost = append(t.lost, lostID{c.key(), l.At})
	}
}

// close takes a claim from those that are open.
func (t *table) close(c *claim) {
	if t.running[c.Chat]--; t.running[c.Chat] == 0 {
		delete(t.running, c.Chat)
	}
	if g := t.generations[c.Keeper]; g != nil {
		delete(g.open, c.key())
	}
}

// claims returns the open claims of a keeper, the oldest first.
func (g *generation) claims() []*claim {
	return slices.SortedFunc(maps.Values(g.open), func(a, b *claim) int { return cmp.Compare(a.Seq, b.Seq) })
}

// runningInAll counts the open claims of all chats.
func (t *table) runningInAll() (n int) {
	for _, in := range t.running {
		n += in
	}
	return n
}

// maxTombstones is how many ended IDs a new file has at most, as many as a Local keeps.
const maxTombstones = 16384

// dump returns the lines of a new file that says the same. The oldest of more than
// maxTombstones ended IDs are left out.
func (t *table) dump() ([]byte, error) {
	lines := []line{{Kind: lineFile, Keeper: owndir.Name()}}
	for _, g := range t.generations {
		again := g.line
		again.Again = g.Keeper != t.newest
		lines = append(lines, again)
	}
	ended := 0
	for _, c := range t.claims {
		ended += b2i(c.end != nil)
	}
	written := make(map[idKey]bool, len(t.claims))
	for _, key := range t.order {
		c := t.claims[key]
		if c == nil || written[key] {
			continue
		}
		written[key] = true
		if c.end != nil {
			if ended--; ended >= maxTombstones {
				continue
			}
		}
		lines = append(lines, c.again()...)
	}
	var text []byte
	for _, l := range lines {
		data, err := l.encode()
		if err != nil {
			return nil, err
		}
		text = append(text, data...)
	}
	return text, nil
}

// again returns the lines that make a claim anew.
func (c *claim) again() []line {
	start := c.line
	start.Again = true
	if c.end == nil || c.Kind == lineStop {
		return []line{start}
	}
	return []line{start, *c.end}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// An idFile is the file "ids" of a directory, as far as it was read. It is not safe for
// concurrent use.
type idFile struct {
	path string
	file *os.File // nil before there is one
	off  int64    // what was read
	table
}

const nameIDs = "ids"

func newIDFile(dir string) *idFile {
	return &idFile{path: filepath.Join(dir, nameIDs), table: *newTable()}
}

// refresh reads what was appended, and reads everything if another file has taken the
// place. If there is none, the error is [fs.ErrNotExist] and the table stays as it was.
func (f *idFile) refresh() error {
	if f.current() {
		return f.read()
	}
	next, err := os.OpenFile(f.path, os.O_RDONLY, 0)
	if err != nil {
		if f.file != nil && errors.Is(err, fs.ErrNotExist) {
			_ = f.read() // its keepers may have written since it was removed
		}
		return err
	}
	f.turnTo(next)
	return f.read()
}

// current reports whether the file at the path is the one that was opened.
func (f *idFile) current() bool {
	if f.file == nil {
		return false
	}
	own, err := f.file.Stat()
	return err == nil && isAt(f.path, own)
}

// turnTo goes on with another file.
func (f *idFile) turnTo(next *os.File) {
	f.close()
	f.file, f.off, f.table = next, 0, *newTable()
}

func (f *idFile) close() {
	if f.file != nil {
		_ = f.file.Close() // nothing is buffered
		f.file = nil
	}
}

// read applies all whole lines behind those that were read.
func (f *idFile) read() error {
	info, err := f.file.Stat()
	if err != nil || info.Size() <= f.off {
		return err
	}
	rest := make([]byte, info.Size()-f.off)
	n, err := f.file.ReadAt(rest, f.off)
	if err != nil && err != io.EOF { //nolint:errorlint // as ReadAt has it
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
		} else if len(text) > 0 {
			f.damaged++
		}
	}
}

// An idWriter is a keeper's idFile. As long as a keeper has the file open, it holds a
// shared lock of it, so whoever gets the exclusive lock knows that no keeper, not even
// one that is stopped, appends to it any more.
type idWriter struct{ *idFile }

// join opens the file of the directory for appending, and makes it if it isn't there.
// If this keeper knows of lines in an earlier file that the new one lacks, it appends
// them.
func (w idWriter) join() error {
	for range 100 { // another keeper may make the file, or replace it, at each turn
		if w.current() {
			return w.read()
		}
		next, err := os.OpenFile(w.path, os.O_RDWR|os.O_APPEND, 0)
		if errors.Is(err, fs.ErrNotExist) {
			if w.file != nil {
				_ = w.read() // what other keepers have appended since it was removed
			}
			if next, err = w.make(os.Link); errors.Is(err, fs.ErrExist) {
				continue
			}
		}
		if err != nil {
			return xerrors.Errorf("%s cannot be opened: %w", nameIDs, err)
		}
		if err := lockShared(next); err != nil {
			next.Close()
			return xerrors.Errorf("%s cannot be locked: %w", nameIDs, err)
		}
		if own, err := next.Stat(); err != nil || !isAt(w.path, own) {
			next.Close()
			continue
		}
		before := w.table
		w.turnTo(next)
		if err := w.read(); err != nil {
			return err
		}
		return w.append(w.lacks(before)...)
	}
	return xerrors.Errorf("%s is replaced again and again", w.path)
}

// make puts a file at the path that says what the table says, and returns it locked.
// place is os.Link or os.Rename.
func (w idWriter) make(place func(from, to string) error) (*os.File, error) {
	text, err := w.dump()
	if err != nil {
		return nil, err
	}
	temp := w.path + "." + owndir.Name()
	if err := makeDir(filepath.Dir(w.path)); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(temp) }() // it may have been renamed
	if _, err = f.Write(text); err == nil {
		err = lockShared(f)
	}
	if err == nil {
		err = place(temp, w.path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// lacks returns the lines that this file needs to say what another table says.
func (w idWriter) lacks(before table) (lines []line) {
	for token, g := range before.generations {
		if w.generations[token] == nil {
			again := g.line
			again.Again = true
			lines = append(lines, again)
		}
	}
	written := make(map[idKey]bool)
	for _, key := range before.order {
		c, now := before.claims[key], w.claims[key]
		switch {
		case c == nil || written[key]:
		case now == nil:
			lines = append(lines, c.again()...)
		case now.Keeper == c.Keeper && now.Seq == c.Seq && now.end == nil && c.end != nil:
			lines = append(lines, *c.end)
		}
		written[key] = true
	}
	return lines
}

// append appends lines, and reads to the end of the file.
func (w idWriter) append(lines ...line) error {
	for _, l := range lines {
		data, err := l.encode()
		if err != nil {
			return err
		}
		if _, err := w.file.Write(data); err != nil {
			return xerrors.Errorf("%s cannot be written: %w", nameIDs, err)
		}
	}
	return w.read()
}

// compact replaces the file by one without the oldest IDs that have ended, if no other
// keeper has it open. The caller holds the lock of the directory, so that none is about
// to open it.
func (w idWriter) compact() error {
	if !lockExclusive(w.file) {
		return lockShared(w.file) // the attempt has given it up
	}
	if err := w.read(); err != nil {
		return err
	}
	next, err := w.make(os.Rename)
	if err != nil {
		return err
	}
	w.turnTo(next)
	return w.read()
}
