package procmgr

import (
	"context"
	"sync/atomic"
)

// WithoutPidfd makes a Local do without pidfds, as on an old kernel.
func WithoutPidfd(o *Options) *Options {
	var c Options
	if o != nil {
		c = *o
	}
	c.noPidfd = true
	return &c
}

// WithVmstat makes a Local read the kernel's counters from a file.
func WithVmstat(o *Options, file string) *Options {
	c := *o
	c.vmstat = file
	return &c
}

// MaxTombstones is how many IDs are remembered.
const MaxTombstones = maxTombstones

// An UntilStream is a stream that one Until watches.
type UntilStream struct {
	s *stream
	m *matcher
}

// NewUntilStream returns one that keeps head and tail bytes.
func NewUntilStream(pattern string, head, tail int) (*UntilStream, error) {
	m, err := newMatcher(pattern)
	if err != nil {
		return nil, err
	}
	return &UntilStream{newStream(head, tail, true, 0, new(atomic.Int64), func() {}), m}, nil
}

// CleanText returns the text of a stream that gets some writes.
func CleanText(writes [][]byte) []byte {
	s := newStream(1<<30, 0, false, 0, new(atomic.Int64), func() {})
	for _, p := range writes {
		s.write(p)
	}
	s.end()
	return s.buf.Snapshot(0).Head
}

// Write takes the next bytes of output.
func (u *UntilStream) Write(p []byte) { u.s.write(p) }

// Watch begins to look for the pattern, from an offset on.
func (u *UntilStream) Watch(from int64) { _ = u.s.watch(context.Background(), u.m, from) }

// Log gives the stream a log in a directory, until close is called.
func (u *UntilStream) Log(dir string) (closed func(), err error) {
	opts := (&Options{LogDir: dir}).withDefaults()
	logs, err := openLogs(&opts, func() bool { return false })
	if err != nil {
		return nil, err
	}
	u.s.log = logs.open()
	return func() { u.s.end(); logs.close() }, nil
}

// Another returns a second Until on the same stream.
func (u *UntilStream) Another(pattern string) (*UntilStream, error) {
	m, err := newMatcher(pattern)
	return &UntilStream{u.s, m}, err
}

// Matched reports whether it has been found.
func (u *UntilStream) Matched() bool {
	select {
	case <-u.m.matched:
		return true
	default:
		return false
	}
}
