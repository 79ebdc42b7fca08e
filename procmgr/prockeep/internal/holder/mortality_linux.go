package holder

import "time"

const (
	// maxUnserved is how many keepers in a row may die before they serve.
	maxUnserved = 5
	// maxDeaths is the default of Config.MaxDeaths.
	maxDeaths = 2000
	// freeDeaths of them are followed by the next keeper at once.
	freeDeaths = 20
	// maxPause is the longest pause before the next keeper is started.
	maxPause = 200 * time.Millisecond
	// unservedPause is the first pause after a keeper that has never served; each
	// later one is twice as long.
	unservedPause = 50 * time.Millisecond
)

// mortality is how keepers have died so far. It says when the next one may be
// started.
type mortality struct {
	limit    int // of deaths
	unserved int // how many in a row have never served
	deaths   int
}

// died notes the death of a keeper that has served since then, or never if that is
// zero.
func (m *mortality) died(served time.Time) {
	if served.IsZero() {
		m.unserved++
	} else {
		m.unserved = 0
		m.deaths = max(0, m.deaths-int(time.Since(served)/time.Second))
	}
	m.deaths++
}

// hopeless reports whether no other keeper is to be started.
func (m *mortality) hopeless() bool {
	return m.unserved >= maxUnserved || m.deaths >= m.limit
}

// pause returns how long to wait before the next keeper is started.
func (m *mortality) pause() time.Duration {
	if m.unserved > 0 {
		return unservedPause << (m.unserved - 1)
	}
	return min(time.Duration(max(0, m.deaths-freeDeaths))*time.Millisecond, maxPause)
}
