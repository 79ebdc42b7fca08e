package proclocal

import "time"

// killTime is how long Kill repeats itself. killSoon is how long it waits for
// the end of what it has killed until it looks again. A program that hardly gets a processor, beside
// others that are busy, looks killLooks times before it gives up, for twice the
// time at most: what it has killed does not get a processor to end, either.
const (
	killTime  = 5 * time.Second
	killSoon  = 50 * time.Millisecond
	killLooks = 20
)

// A patience says when to give up what is repeated until it has succeeded.
type patience struct {
	began time.Time
	looks int
}

// over reports whether it is time to give up. It is asked after each look.
func (p *patience) over() bool {
	p.looks++
	d := time.Since(p.began)
	return d > 2*killTime || d > killTime && p.looks >= killLooks
}
