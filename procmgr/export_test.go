package procmgr

import "sync/atomic"

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

// Write takes the next bytes of output.
func (u *UntilStream) Write(p []byte) { u.s.write(p) }

// Watch begins to look for the pattern, from an offset on.
func (u *UntilStream) Watch(from int64) { u.s.watch(u.m, from) }

// Matched reports whether it has been found.
func (u *UntilStream) Matched() bool {
	select {
	case <-u.m.matched:
		return true
	default:
		return false
	}
}
