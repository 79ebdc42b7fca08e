//go:build !linux

package osproc

// watch costs a goroutine for the output, and another one for the leader.
func (t *Tree) watch() {
	t.collect()
	t.awaitLeader()
}

// abandoned has nothing to do: the goroutines of watch end by themselves.
func (t *Tree) abandoned() {}

// readOn has nothing to do: one goroutine reads to the end.
func (t *Tree) readOn() {}

// A poller does not exist on this system.
type poller struct{}

func newPoller(bool, *crew) (*poller, error) { return nil, nil }

func (p *poller) close() {}
