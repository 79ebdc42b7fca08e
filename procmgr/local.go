package procmgr

import (
	"container/list"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolproc/toolproc/procmgr/internal/capture"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// Locks are taken in this order; a line may be left out:
//
//	a pipe of osproc         held while its stream takes what was read
//	a stream's logging       held until its log has that too, however slow the disk
//	Local.mu
//	record.mu
//	a log's mu, its Logs' mu
//
// A stream's mu comes after Local.mu, and its Buffer's alone after it. Any other lock is
// held alone. Under all but the first two nobody forks, waits, writes to the disk
// or calls the host; under those, the host is called for Metrics.Output alone.

// Local runs processes on this machine. It is a [Host], safe for concurrent
// use.
//
// A program that uses one calls Close before it ends, and handles the signals
// that would end it otherwise: Ctrl-C in its terminal reaches the program and
// none of its commands. See Close.
type Local struct {
	opts   Options
	system *osproc.System
	logs   *capture.Logs // nil where Options.LogDir is not set

	memory  atomic.Int64 // bytes of output that all records keep
	streams capture.Options

	allowed allowance
	name    string // of the shell, "" if it cannot be told
	bash    bool   // the shell is the default one, and bash

	wg sync.WaitGroup // every record's watch and rewatch

	// mu guards what follows. It is held for moments only: never across a
	// fork, a wait or a look at /proc.
	mu      sync.Mutex
	closed  bool // nothing is started any more
	settled bool // nothing comes back any more: Close waits for the last
	seq     uint64
	chats   records
	past    *tombstones
	exits   *list.List // records that have exited, in that order
	expiry  *time.Timer
	// expiring is the record that expiry is set for.
	expiring *record
	sweeps   sweeps

	closing  sync.Once
	closeErr error
}

// sweeps are searches for what left its session and its pipe in one breath, as
// in "setsid x >/dev/null 2>&1 &". When its shell exits nothing is left to see
// without a look at every process of the machine, which no call is to pay for:
// one search serves all that has exited meanwhile. The Local's mu guards it.
type sweeps struct {
	pending []*record
	timer   *time.Timer
	last    time.Time
}

func (s *sweeps) stop() {
	if s.timer != nil {
		s.timer.Stop()
	}
}
