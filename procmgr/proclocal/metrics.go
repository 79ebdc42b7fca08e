package proclocal

import (
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

// Metrics has functions that a [Local] calls to report its work, for counters
// and histograms. A nil field costs nothing. Several goroutines call the
// functions at once, in the middle of that work. So a function must be quick.
// It must not block, panic or call the Local.
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
	// Running is called with 1 when a process starts, and with -1 when it has
	// exited. The sum is the number of processes that have not exited.
	Running func(delta int)
	// Output is called with the number of bytes that processes print, as they
	// come. If the output is kept as plain text, it counts that text.
	Output func(bytes int)
}

// Each method calls its function if there is one. m may be nil.

func (m *Metrics) started() {
	if m == nil {
		return
	}
	if m.Started != nil {
		m.Started()
	}
	if m.Running != nil {
		m.Running(1)
	}
}

func (m *Metrics) refused(err error) {
	if m != nil && m.Refused != nil {
		m.Refused(err)
	}
}

func (m *Metrics) exited(p procmgr.Process) {
	if m == nil {
		return
	}
	if m.Running != nil {
		m.Running(-1)
	}
	if m.Exited != nil {
		m.Exited(p.EndedBy, p.Elapsed)
	}
}

func (m *Metrics) output() func(bytes int) {
	if m == nil {
		return nil
	}
	return m.Output
}
