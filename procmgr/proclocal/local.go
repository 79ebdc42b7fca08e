package proclocal

import (
	"container/list"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/retention"
)

// A goroutine takes locks in this order, and may leave out any of them:
//
//	a pipe of osproc         held while its stream takes the bytes that were read
//	a stream's logging       held until its log has them too, even on a slow disk
//	Local.mu
//	record.mu
//	a log's mu, its Logs' mu
//
// An inlet's mu is held under a pipe while the screen draws, and nothing comes
// after it. A stream's mu comes after Local.mu, and only its Buffer's lock comes after
// it. The lock of a prompt.Watch comes before the one with which an inlet guards
// the time of the last output. Every other lock is held alone. Under all locks but the first two, nobody
// forks, waits, writes to the disk or calls the host. Under those two, nobody
// calls the host except for Metrics.Output.

// Local runs processes on this machine. It is a [procmgr.Host], and safe for concurrent
// use.
//
// A program that uses a Local must call Close before it ends. It must also
// handle the signals that would end it otherwise: Ctrl-C in its terminal
// reaches the program and none of its commands. See Close.
type Local struct {
	opts   Options
	system *osproc.System
	logs   *capture.Logs // nil if Options.LogDir is not set

	memory  atomic.Int64 // bytes of output that all records keep
	streams capture.Options

	sandbox      sandbox
	rules        *procmgr.SandboxRules // of the sandbox, nil for none
	policy       baseenv.PolicyApplier
	masks        masks
	policyAsking baseenv.PolicyApplier // for commands with a terminal
	name         string                // of the shell, "" if it cannot be told
	bash         bool                  // the shell is the default one, and bash
	comparing    chan struct{}         // has a place for each comparison that is under way

	wg sync.WaitGroup // the launch and watch of every record

	// mu guards the fields below. It is held for moments only: never across a
	// fork, a wait or a look at /proc.
	mu     sync.Mutex
	closed bool // nothing is started any more
	// hanging is how many forks Close has given up that have not returned. If there are
	// any when it has left, the last one closes system.
	hanging int
	left    bool
	seq     uint64
	table   table
	asking  map[*record]bool // that have a stdin and have not exited
	events  *retention.Events
	exits   *list.List // the records that have exited, in the order of their exits
	expiry  *time.Timer
	// expiring is the record for which expiry is set.
	expiring *record

	closing  sync.Once
	closeErr error
}
