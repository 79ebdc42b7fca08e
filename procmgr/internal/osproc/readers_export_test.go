//go:build linux

package osproc

import (
	"syscall"

	"github.com/toolproc/toolproc/procmgr/internal/waiting"
)

// Readers are those of a pipe whose other end is conn.
type Readers struct {
	readers
	Conn syscall.RawConn
}

// Waits looks at some processes, in what mode says.
func (r *Readers) Waits(mode func() (waiting.Mode, bool), pids ...int) *waiting.Found {
	return r.waits(r.Conn, false, mode, func() []int { return pids })
}
