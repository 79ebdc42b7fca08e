package osproc

import (
	"bytes"
	"os"
	"strconv"
	"sync"
	"time"
)

// vmstat is the file with the counter oom_kill: how many processes the kernel's
// out-of-memory killer has ended since boot. See proc_vmstat(5).
const vmstat = "/proc/vmstat"

// recently is how long a growth of the counter explains a death, from the moment
// at which the growth was seen.
const recently = 2 * time.Second

// An oomCounter tells whether the out-of-memory killer has struck recently. It
// sees only that the counter has grown since it was last read. So it is read not
// only when a leader was killed from outside, but also at each search: a strike
// that a search has seen does not explain a death long after it.
type oomCounter struct {
	mu   sync.Mutex // guards the fields below; held while the file is read
	last int64      // the counter when it was last read
	seen time.Time  // when the counter was last seen to have grown
}

func newOOMCounter() *oomCounter {
	now, _ := readCounter(vmstat)
	return &oomCounter{last: now}
}

// struck reports whether the counter has grown since the last call, or was seen
// to have grown recently.
func (c *oomCounter) struck() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, _ := readCounter(vmstat)
	if now > c.last {
		c.seen = time.Now()
	}
	c.last = max(c.last, now) // now is 0 if the file could not be read
	return time.Since(c.seen) < recently
}

// readCounter returns the number that follows oom_kill in a file with one name and one
// number a line. It reports false if it cannot read the file or finds no such line.
func readCounter(file string) (kills int64, ok bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	for line := range bytes.Lines(text) {
		if number, ok := bytes.CutPrefix(line, []byte("oom_kill ")); ok {
			kills, err = strconv.ParseInt(string(bytes.TrimSpace(number)), 10, 64)
			return kills, err == nil
		}
	}
	return 0, false
}

// outOfMemory reports whether the out-of-memory killer has ended a member of s, whose
// leader has exited. If the session's cgroup has a memory controller, its own counter
// tells, also if the leader went on: in a pipeline only the last command shows in the
// exit code. Otherwise the machine's counter makes it the likely reason why the leader
// died by SIGKILL.
func (c *oomCounter) outOfMemory(s *session, end Exit) bool {
	if s.cgroup != nil {
		if kills, ok := readCounter(s.cgroup.file("memory.events")); ok {
			return kills > 0
		}
	}
	return end.killed() && c.struck()
}
