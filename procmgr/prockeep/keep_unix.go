//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"bytes"
	"encoding/binary"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/carry"
	"github.com/toolproc/toolproc/procmgr/internal/procstat"
	"github.com/toolproc/toolproc/procmgr/prockeep/internal/holder"
	"github.com/toolproc/toolproc/procmgr/prockeep/internal/journal"
)

// These are the names of the journal's notes.
var (
	noteVersion  = journal.Key{ID: "version"}  // of the records, see carry.Version
	noteLocal    = journal.Key{ID: "local"}    // the last record of Began
	noteInstance = journal.Key{ID: "instance"} // of the handler
	noteBoot     = journal.Key{ID: "boot"}     // of the machine, if the system tells
	noteTokens   = journal.Key{ID: "tokens"}   // of the keepers that had the journal, with spaces between them
)

// forgetTime is how long an ID that is forgotten may still be in the journal.
const forgetTime = 100 * time.Millisecond

// A keep writes down what happens to the processes of the Local, and gives their
// descriptors to the holder. It implements [carry.Keep].
type keep struct {
	journal *journal.Journal
	link    *holder.Link // nil if there is no holder
	log     *slog.Logger
	look    func() error // called before each line

	mu        sync.Mutex              // guards the fields below
	leaders   map[uint64]carry.Leader // by seq
	forgotten []carry.Key
	// later has what is to be written once a Recover has succeeded; nil: nothing
	// is put off.
	later   []func()
	putsOff bool
}

var _ carry.Keep = (*keep)(nil)

func newKeep(j *journal.Journal, link *holder.Link, log *slog.Logger) *keep {
	return &keep{journal: j, link: link, log: log, look: func() error { return nil }, leaders: make(map[uint64]carry.Leader)}
}

func keyOf(k carry.Key) journal.Key { return journal.Key(k) }

// record returns a record for the journal: it has the leader before what package
// carry gives.
func (k *keep) record(seq uint64, record []byte) []byte {
	k.mu.Lock()
	leader := k.leaders[seq]
	k.mu.Unlock()
	b := binary.AppendUvarint(make([]byte, 0, len(record)+16), uint64(leader.PID))
	b = binary.AppendUvarint(b, leader.Start)
	return append(b, record...)
}

// readRecord undoes record. It reports false if it cannot be read.
func readRecord(b []byte) (leader carry.Leader, record []byte, ok bool) {
	pid, size := binary.Uvarint(b)
	if size <= 0 {
		return carry.Leader{}, nil, false
	}
	start, length := binary.Uvarint(b[size:])
	if length <= 0 {
		return carry.Leader{}, nil, false
	}
	return carry.Leader{PID: int(pid), Start: start}, b[size+length:], true
}

// share lets the holder have the journal.
func (k *keep) share() {
	if k.link != nil {
		k.journal.Follow(func(f *os.File) {
			_ = k.link.Give(seqJournal, []string{roleJournal}, []int{fdOf(f)}) // as in give
		})
	}
}

// give lets the holder have some files. Without a holder, they are this program's
// alone.
func (k *keep) give(seq uint64, files []carry.File) {
	if k.link == nil || len(files) == 0 {
		return
	}
	roles, fds := make([]string, len(files)), make([]int, len(files))
	for i, f := range files {
		roles[i], fds[i] = string(f.Role), f.FD
	}
	_ = k.link.Give(seq, roles, fds) // the Link logs that it has no holder any more
}

// tell writes a line, or puts it off until keepOn is called.
func (k *keep) tell(kind journal.Kind, key journal.Key, record []byte) {
	k.mu.Lock()
	if k.putsOff {
		k.later = append(k.later, func() { k.journal.Tell(kind, key, record) })
		k.mu.Unlock()
		return
	}
	k.mu.Unlock()
	_ = k.look() // a line in a file that was removed is not lost while this program lives
	k.journal.Tell(kind, key, record)
}

// putOff puts off every line, until keepOn is called.
func (k *keep) putOff() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.putsOff = true
}

// keepOn writes what was put off.
func (k *keep) keepOn() {
	k.mu.Lock()
	later := k.later
	k.later, k.putsOff = nil, false
	k.mu.Unlock()
	for _, do := range later {
		do()
	}
}

// Began implements [carry.Keep].
func (k *keep) Began(record []byte, files []carry.File) error {
	k.give(0, files)
	// A full disk must not keep the keeper from serving what it has.
	k.tell(journal.Note, noteLocal, bytes.Clone(record))
	return nil
}

// Starting implements [carry.Keep].
func (k *keep) Starting(key carry.Key, record []byte, files []carry.File) error {
	k.give(key.Seq, files)
	k.flush()
	err := k.look()
	if err == nil {
		err = k.journal.Append(journal.Starting, keyOf(key), k.record(key.Seq, record))
	}
	if err != nil {
		if k.link != nil {
			k.link.Forget(key.Seq)
		}
		return xerrors.Errorf("nothing was started, because the keeper cannot write it down in its journal: %w", err)
	}
	return nil
}

// atStarted is called with what writes down that a leader was forked. Tests change it.
var atStarted = func(_ *keep, write func()) { write() }

// Started implements [carry.Keep].
func (k *keep) Started(key carry.Key, leader carry.Leader, record []byte) {
	k.mu.Lock()
	k.leaders[key.Seq] = leader
	k.mu.Unlock()
	atStarted(k, func() { k.tell(journal.Started, keyOf(key), k.record(key.Seq, record)) })
}

// NotStarted implements [carry.Keep].
func (k *keep) NotStarted(key carry.Key) {
	k.mu.Lock()
	delete(k.leaders, key.Seq)
	k.mu.Unlock()
	k.tell(journal.NotStarted, keyOf(key), nil)
	if k.link != nil {
		k.link.Forget(key.Seq)
	}
}

// Turned implements [carry.Keep].
func (k *keep) Turned(key carry.Key, record []byte) {
	k.tell(journal.Turned, keyOf(key), k.record(key.Seq, record))
}

// Dropped implements [carry.Keep].
func (k *keep) Dropped(key carry.Key, roles ...carry.Role) {
	switch {
	case k.link == nil:
	case len(roles) == 0:
		k.link.DropAll(key.Seq)
	default:
		for _, role := range roles {
			k.link.Drop(key.Seq, string(role))
		}
	}
}

// Forgotten implements [carry.Keep]. The journal is told later, because that can
// take the time of a disk.
func (k *keep) Forgotten(key carry.Key) {
	k.mu.Lock()
	delete(k.leaders, key.Seq)
	k.forgotten = append(k.forgotten, key)
	first := len(k.forgotten) == 1
	k.mu.Unlock()
	if k.link != nil {
		k.link.Forget(key.Seq)
	}
	if first {
		time.AfterFunc(forgetTime, k.flush)
	}
}

// flush tells the journal what is forgotten.
func (k *keep) flush() {
	k.mu.Lock()
	all := k.forgotten
	k.forgotten = nil
	k.mu.Unlock()
	for _, key := range all {
		k.tell(journal.Forgotten, keyOf(key), nil)
	}
}

// tellLeaders lets the holder keep the ends of all leaders that the journal knows.
func (k *keep) tellLeaders() {
	pids := make(map[uint64]uint64)
	k.mu.Lock()
	for seq, leader := range k.leaders {
		if procstat.Is(leader.PID, leader.Start) { // or the number is another one's
			pids[seq] = uint64(leader.PID)
		}
	}
	k.mu.Unlock()
	k.link.Leaders(slices.Sorted(maps.Keys(pids)), pids)
}

// Await implements [carry.Keep].
func (k *keep) Await(key carry.Key, leader carry.Leader) <-chan carry.Status {
	if k.link == nil {
		c := make(chan carry.Status)
		close(c)
		return c
	}
	if !procstat.Is(leader.PID, leader.Start) {
		leader.PID = 0 // the holder has reaped it, or nobody knows its end
	}
	return k.link.Await(key.Seq, leader.PID)
}

// A past is what is known of the keepers of this directory that have died.
type past struct {
	instance, boot string
	version        string // of the records; "" if there are none yet
	tokens         []string
	carry.Journal
	told map[carry.Leader]bool // the leaders of the entries
	live []int                 // the children of the dead keeper that live and are no leader of an entry
}

// past reads the journal. It fills in the numbers of the leaders.
func (k *keep) past() past {
	p := past{Journal: carry.Journal{Holes: k.journal.Doubt()}, told: make(map[carry.Leader]bool)}
	for _, e := range k.journal.Found() {
		if e.Kind == journal.Note {
			switch {
			case e.Damaged:
				p.Holes = true
			case e.Key == noteVersion:
				p.version = string(e.Record)
			case e.Key == noteLocal:
				p.Local = e.Record
			case e.Key == noteInstance:
				p.instance = string(e.Record)
			case e.Key == noteBoot:
				p.boot = string(e.Record)
			case e.Key == noteTokens:
				p.tokens = strings.Fields(string(e.Record))
			}
			continue
		}
		entry := carry.Entry{Key: carry.Key(e.Key), Started: e.Kind != journal.Starting}
		if leader, record, ok := readRecord(e.Record); ok {
			entry.Record = record
			if leader.PID != 0 {
				k.leaders[e.Seq] = leader
				p.told[leader] = true
			}
		}
		p.Entries = append(p.Entries, entry)
	}
	return p
}

// check returns an error if the records have another version than this program's.
func (p *past) check(path string) error {
	own := strconv.Itoa(stateVersion)
	if p.version == "" || p.version == own {
		return nil
	}
	return xerrors.Errorf("a keeper has died here whose journal has version %.20q, and this program reads version %q: open the directory with a program of that version first, or remove %s, which forgets what has run: %w",
		p.version, own, path, procmgr.ErrInvalid)
}

// inherit adds what the holder has.
func (p *past) inherit(h *holder.Heritage) {
	p.Files = filesOf(h)
	p.Unsure = h.Unsure || h.Generation == 0 // nobody has seen what became of the children
	for _, s := range h.Strays {
		now, ok := procstat.Look(s.PID)
		leader := carry.Leader{PID: s.PID, Start: now.Start}
		switch {
		case p.told[leader]:
		case !s.Ended:
			p.live = append(p.live, s.PID)
			if inExec(s.PID) {
				p.Strays = append(p.Strays, leader)
			}
		case ok && (now.Unborn || now.Session != s.PID):
			// It has never reached its exec, or it leads no session: it was the
			// leader of nothing.
		case slices.Contains(h.Trapped, s.PID):
		default:
			p.Strays = append(p.Strays, leader)
		}
	}
}

// inExec reports whether a process may be in the midst of its exec. It has another
// program then and no environment yet, so that nothing tells whose it is.
func inExec(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && len(text) == 0
}

// filesOf returns the files of the Local that the holder has. They are the
// caller's.
func filesOf(h *holder.Heritage) map[uint64][]carry.File {
	files := make(map[uint64][]carry.File)
	for _, f := range h.Held {
		if f.Seq == seqSocket || f.Seq == seqJournal {
			continue
		}
		files[f.Seq] = append(files[f.Seq], carry.File{Role: carry.Role(f.Role), FD: f.FD})
	}
	return files
}
