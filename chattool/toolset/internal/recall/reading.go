package recall

import (
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

// A reading is what the last result about a process that lives has shown of it.
type reading struct {
	state   procmgr.State
	stopped bool
	from    int64
	next    int64
	live    string
	shown   int64     // results have shown the output up to here, from its beginning on
	empty   int       // how many reads in a row showed nothing new
	news    time.Time // when one showed something new last
}

// A Silence is a row of reads that showed nothing new.
type Silence struct {
	Reads int           // how many they are, this one included
	Lasts time.Duration // since one showed something new
}

// Silence returns the row that a result belongs to if it were the next one. Reads is
// 0 if it shows something new.
func (m *Memory[K]) Silence(of K, r Result) Silence {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.book(of).reads[r.Process.ID]
	if last.isNews(r) {
		return Silence{}
	}
	if last == nil {
		return Silence{Reads: 1}
	}
	return Silence{last.empty + 1, time.Since(last.news)}
}

// Read remembers a read of a process that lives, and returns the row of reads that
// it belongs to.
func (m *Memory[K]) Read(of K, r Result) Silence {
	s := m.Silence(of, r)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.book(of).read(r, time.Now())
	return s
}

// isNews reports whether a result shows something that the last one did not.
func (last *reading) isNews(r Result) bool {
	from := min(r.From, r.Next)
	if last == nil {
		return from < r.Next || r.Live != ""
	}
	p := r.Process
	return from < last.from || r.Next != last.next || r.Live != last.live || p.State != last.state || p.Stopped != last.stopped
}

// read remembers a read. The caller holds the mu of the Memory.
func (b *book) read(r Result, now time.Time) {
	id := r.Process.ID
	last := b.reads[id]
	next := reading{state: r.Process.State, stopped: r.Process.Stopped, from: min(r.From, r.Next), next: r.Next, live: r.Live, news: now}
	if last != nil {
		next.shown = last.shown
	}
	if next.from <= next.shown {
		next.shown = max(next.shown, r.Next)
	}
	if !last.isNews(r) {
		next.empty, next.news = 1, now
		if last != nil {
			next.empty, next.news = last.empty+1, last.news
		}
	}
	put(&b.reads, id, &next)
}
