package input

import (
	"sync"
	"time"
)

// A printing tells when a process prints.
type printing struct {
	mu     sync.Mutex // guards the fields below
	count  int64      // pieces of output
	last   time.Time
	wrote  time.Time     // when the process was last written to
	writes int64         // how often it was
	news   chan struct{} // closed at the next piece; nil if nobody waits
}

func (p *printing) note() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	p.last = time.Now()
	if p.news != nil {
		close(p.news)
		p.news = nil
	}
}

// written notes that the process was written to.
func (p *printing) written() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes++
	p.wrote = time.Now()
}

// Active returns when the process has last printed or was written to, and how often it
// was written to.
func (in *Inlet) Active() (at time.Time, writes int64) {
	p := &in.print
	p.mu.Lock()
	defer p.mu.Unlock()
	if at = p.last; p.wrote.After(at) {
		at = p.wrote
	}
	return at, p.writes
}

// look returns how many pieces there were, when the last one came, and a channel
// that is closed at the next one.
func (p *printing) look() (count int64, last time.Time, news <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.news == nil {
		p.news = make(chan struct{})
	}
	return p.count, p.last, p.news
}

// quietAtLast is how long UntilQuiet waits for the first output.
const quietAtLast = 2 * time.Second

// Quiet returns when the output after a write has been quiet for a while, unless more
// is printed before: then news is closed.
func (in *Inlet) Quiet(w *Written, quiet time.Duration) (at time.Time, news <-chan struct{}) {
	count, last, news := in.print.look()
	switch {
	case count <= w.count:
		return w.at.Add(quietAtLast), news
	case last.Before(w.at):
		return w.at.Add(quiet), news
	}
	return last.Add(quiet), news
}
