package recall

import (
	"sync"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

const (
	// lastResults is for how many results an output that was shown counts as one
	// that the model has before it.
	lastResults = 20
	// maxBooks is how many conversations are remembered, and maxNoted how many
	// commands and processes of each. If there are more, all of them are forgotten,
	// which costs a whole result each.
	maxBooks = 1024
	maxNoted = 256
	// maxOutputs is how many outputs of a command are remembered: one that failed
	// may be followed by one like that before it.
	maxOutputs = 3
)

// A Memory remembers results by their conversations, of which each has a key of
// type K. It is safe for concurrent use, and its zero value is ready.
type Memory[K comparable] struct {
	mu    sync.Mutex // guards books and all that is in them
	books map[K]*book
}

// A book is what is remembered of one conversation.
type book struct {
	results int                       // how many there were
	shown   map[command][]output      // the last outputs of each command that results have shown, the newest first
	told    map[string]bool           // the processes of which a result has shown the end
	took    map[command]time.Duration // how long a command took last
	reads   map[string]*reading       // of processes that live
}

// A command is the same if it runs in the same way. One without a text is not known,
// and is like no other.
type command struct {
	text, dir string
	stdin     procmgr.Stdin
}

func commandOf(p procmgr.Process) command { return command{p.Command, p.WorkDir, p.Stdin} }

// An output is one that a result has shown, whole or cut.
type output struct {
	process procmgr.Process
	result  int // the number of that result
}

// book returns the book of a conversation. The caller holds mu.
func (m *Memory[K]) book(of K) *book {
	b := m.books[of]
	if b == nil {
		if m.books == nil || len(m.books) >= maxBooks {
			m.books = make(map[K]*book)
		}
		b = new(book)
		m.books[of] = b
	}
	return b
}

// put puts a value into a map that has a bounded size.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if _, has := (*m)[key]; *m == nil || !has && len(*m) >= maxNoted {
		*m = make(map[K]V)
	}
	(*m)[key] = value
}

// Before returns the earlier processes with the same command, in the same directory,
// whose output one of the last 20 results of the conversation has shown: at most
// three, the newest first. There is none if a result has shown the end of p itself:
// whoever reads it once more wants the text.
func (m *Memory[K]) Before(of K, p procmgr.Process) (earlier []procmgr.Process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.book(of)
	if p.Command == "" || b.told[p.ID] {
		return nil
	}
	for _, o := range b.shown[commandOf(p)] {
		if o.process.ID != p.ID && b.results-o.result < lastResults {
			earlier = append(earlier, o.process)
		}
	}
	return earlier
}

// Took returns how long the command of a process took when a result showed its end
// last.
func (m *Memory[K]) Took(of K, p procmgr.Process) (d time.Duration, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok = m.book(of).took[commandOf(p)]
	return d, ok && p.Command != ""
}

// A Result is what a result has shown of a process.
type Result struct {
	Process procmgr.Process
	// Shown is set if it has shown the output from From on, whole or with its
	// middle cut, up to Next and the line Live beyond that.
	Shown      bool
	From, Next int64
	Live       string
	// Read is set if it has been given to Read before.
	Read bool
}

// Note remembers a result.
func (m *Memory[K]) Note(of K, r Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.book(of)
	b.results++
	p := r.Process
	before := b.reads[p.ID]
	if p.State != procmgr.Exited {
		if r.Shown && !r.Read {
			b.read(r, time.Now())
		}
		return
	}
	delete(b.reads, p.ID)
	put(&b.told, p.ID, true)
	if d := p.Elapsed; d > 0 && (p.EndedBy == procmgr.CauseExit || p.EndedBy == "") {
		put(&b.took, commandOf(p), d)
	}
	if r.Shown && (r.From == 0 || before != nil && r.From <= before.shown) {
		all := append([]output{{p, b.results}}, b.shown[commandOf(p)]...)
		put(&b.shown, commandOf(p), all[:min(len(all), maxOutputs)])
	}
}

// Forget forgets which outputs were shown and read. How long commands took stays.
func (m *Memory[K]) Forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.books {
		b.shown, b.told, b.reads = nil, nil, nil
	}
}
