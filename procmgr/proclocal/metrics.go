package proclocal

import (
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

// Metrics has functions that a [Local] calls to report its work, for counters and
// histograms. How many processes live is the Live of a List. A nil field costs nothing.
// Several goroutines call the functions at once, in the middle of that work. So a function
// must be quick. It must not block, panic or call the Local.
type Metrics struct {
	// Started is called for each process that has started.
	Started func()
	// Refused is called for each Start that started nothing. err says why: if
	// it matches ErrLimit, a limit was hit. A Start that found its process by
	// the ID calls neither Started nor Refused.
	Refused func(err error)
	// Exited is called for each process that has exited. It gets the cause of
	// the end, and for how long the process ran.
	Exited func(cause procmgr.Cause, ran time.Duration)
	// Output is called with the number of bytes of plain text that processes print, as
	// they come.
	Output func(bytes int)
}

// withDefaults returns a copy in which every function but Output can be called. m may be
// nil.
func (m *Metrics) withDefaults() *Metrics {
	var c Metrics
	if m != nil {
		c = *m
	}
	if c.Started == nil {
		c.Started = func() {}
	}
	if c.Refused == nil {
		c.Refused = func(error) {}
	}
	if c.Exited == nil {
		c.Exited = func(procmgr.Cause, time.Duration) {}
	}
	return &c
}
