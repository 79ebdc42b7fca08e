package proctest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

var refusalCases = []testCase{
	{"cut short", "if Start returns an error without an ID, and the error is not ErrUnknown, it has started nothing and will start nothing", refusalCutShort},
	{"conflict", "a Start that fails with ErrConflict starts nothing and returns no ID: the process of that ID belongs to another request", refusalConflict},
}

// refusalCutShort cuts starts short after various times, and compares their
// errors with the marks that the commands have left.
func refusalCutShort(c *check) {
	m := c.chat("a")
	marks := c.dir(m) + "/marks"
	var refused []string
	for i, after := range []time.Duration{
		0, 50 * time.Microsecond, 200 * time.Microsecond, time.Millisecond, 3 * time.Millisecond,
		10 * time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond,
	} {
		ctx, cancel := context.WithCancel(c.ctx)
		if i%2 == 0 {
			ctx, cancel = context.WithTimeout(c.ctx, after)
		} else {
			time.AfterFunc(after, cancel)
		}
		id := c.id()
		out, err := c.tryStartIn(ctx, m, procmgr.StartRequest{
			ID:      id,
			Command: "echo " + id + " >> " + quote(marks) + "; exec sleep 600",
			Wait:    c.long,
		})
		cancel()
		switch {
		case err == nil: // other cases look for that
		case out.Process.ID == "" && !errors.Is(err, procmgr.ErrUnknown):
			refused = append(refused, id)
		case out.Process.ID != "" && out.Process.ID != id:
			c.errorf("Start of the ID %q returned the ID %q", id, out.Process.ID)
		}
	}
	for _, id := range refused {
		if _, err := c.tryRead(m, id, procmgr.OutputRequest{}); !errors.Is(err, procmgr.ErrNotFound) {
			c.errorf("Start of %q returned an error without an ID, as if nothing was started, and Output of it returns %s", id, told(err))
		}
	}
	for ran := range strings.Lines(c.file(m, marks)) {
		if id := strings.TrimSuffix(ran, "\n"); slices.Contains(refused, id) {
			c.errorf("Start of %q returned an error without an ID, as if nothing was started, and its command has run", id)
		}
	}
}

func refusalConflict(c *check) {
	m := c.chat("a")
	id := c.sleeper(m).Process.ID
	out, err := c.tryStart(m, procmgr.StartRequest{ID: id, Command: "true"})
	c.is(err, procmgr.ErrConflict, "Start of another command with the ID of a process that runs")
	if out.Process.ID != "" {
		c.errorf("Start of another command with the ID %q was refused and returned an ID, as if it may have run", id)
	}
	c.runs(m, id, "after the start of another command with its ID")
}
