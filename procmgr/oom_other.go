//go:build !linux

package procmgr

// An oomCounter exists on Linux only.
type oomCounter struct{}

func newOOMCounter(string) *oomCounter { return &oomCounter{} }

func (c *oomCounter) struck() bool { return false }

func (r *record) outOfMemory() bool { return false }
