package procmgr

import "time"

// Metrics is told what a [Local] does, for a host that exports counters and
// histograms. A field that is nil costs nothing. The functions are called from
// several goroutines at once, on the way of what they tell of: they have to be
// quick, and may neither block, nor panic, nor call the Local.
type Metrics struct {
	// Started is called for each process that has begun.
	Started func()
	// Refused is called for each Start that began nothing, and says why: an
	// error that matches ErrLimit is a limit that was hit. A Start that found
	// its process by its ID is neither.
	Refused func(err error)
	// Exited is called for each process that has exited, with what ended it
	// and for how long it ran.
	Exited func(cause Cause, ran time.Duration)
	// Running is called with 1 when a process begins, with -1 when it has
	// exited, and with 1 again for one that turns out to live on: the sum is
	// how many run.
	Running func(delta int)
	// Output is called with the bytes that processes print, as they come; of
	// what is plain text, as it is kept.
	Output func(bytes int)
	// Omitted is called with the bytes that a text leaves out.
	Omitted func(bytes int64)
	// Waited is called for each wait that was not over at once, with how long
	// it took.
	Waited func(took time.Duration)
}

// The methods call a function where there is one; m may be nil.

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

func (m *Metrics) exited(p Process) {
	if m == nil {
		return
	}
	if m.Running != nil {
		m.Running(-1)
	}
	if m.Exited != nil {
		m.Exited(p.EndedBy, p.ExitedAt.Sub(p.StartedAt))
	}
}

// again is for a process that has exited once and been told.
func (m *Metrics) again(delta int) {
	if m != nil && m.Running != nil {
		m.Running(delta)
	}
}

func (m *Metrics) output() func(bytes int) {
	if m == nil {
		return nil
	}
	return m.Output
}

func (m *Metrics) omitted(out Output) {
	if m != nil && m.Omitted != nil && out.Truncated != nil {
		m.Omitted(out.Truncated.OmittedBytes)
	}
}

func (m *Metrics) waited(took time.Duration) {
	if m != nil && m.Waited != nil {
		m.Waited(took)
	}
}
