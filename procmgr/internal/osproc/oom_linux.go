package osproc

import (
	"bytes"
	"os"
	"strconv"
	"sync"
	"time"
)

// vmstat is the file that counts the processes that the kernel's out-of-memory
// killer has ended since boot, see proc_vmstat(5).
const vmstat = "/proc/vmstat"

// recently is how long ago a strike of the out-of-memory killer may have been
// seen, if it is to explain a death.
const recently = 2 * time.Second

// An oomCounter tells whether the out-of-memory killer has struck recently. It
// is asked when a leader was killed from outside, and at each search, so that
// an old strike is not taken for a new one.
type oomCounter struct {
	mu   sync.Mutex // guards the fields below; held while the file is read
	last int64
	seen time.Time // when the counter was last seen to have grown
}

func newOOMCounter() *oomCounter { return &oomCounter{last: readCounter(vmstat)} }

// struck reports whether the counter has grown since the last call, or was seen
// to have grown recently.
func (c *oomCounter) struck() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := readCounter(vmstat)
	if now > c.last {
		c.seen = time.Now()
	}
	c.last = now
	return time.Since(c.seen) < recently
}

// readCounter returns the number of oom_kill in a file of names and numbers, or
// 0 if it cannot.
func readCounter(file string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		if number, ok := bytes.CutPrefix(line, []byte("oom_kill ")); ok {
			n, _ := strconv.ParseInt(string(bytes.TrimSpace(number)), 10, 64)
			return n
		}
	}
	return 0
}

// outOfMemory reports whether the out-of-memory killer is the likely reason for
// a death by SIGKILL. A cgroup with a memory controller has a counter of its
// own.
func (c *oomCounter) outOfMemory(s *session) bool {
	if g := s.cgroup; g != nil {
		if _, err := os.Stat(g.file("memory.events")); err == nil {
			return readCounter(g.file("memory.events")) > 0
		}
	}
	return c.struck()
}
