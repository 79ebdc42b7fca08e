package proctest

import (
	"errors"
	"slices"

	"github.com/toolproc/toolproc/procmgr"
)

var membersCases = []testCase{
	{"of this process", "Members has the leader and what it has started, and no member of another process, if Members asks for it; or the error is errors.ErrUnsupported", membersOwn},
	{"of one that has exited", "a process that has exited has no members", membersExited},
}

// tellsMembers reports whether the host tells members.
func (c *check) tellsMembers(m procmgr.Manager, id string) bool {
	c.Helper()
	_, err := c.tryRead(m, id, procmgr.OutputRequest{Members: true})
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		c.fatalf("Output with Members failed: %v", err)
	}
	return err == nil
}

func membersOwn(c *check) {
	m := c.chat("a")
	first := c.start(m, procmgr.StartRequest{Command: "sleep 600 & echo ready; wait"}).Process.ID
	second := c.sleeper(m).Process.ID
	if !c.tellsMembers(m, first) {
		return
	}
	c.read(m, first, procmgr.OutputRequest{Until: "^ready$", Wait: c.long})
	seen := make(map[int]bool)
	for _, id := range []string{first, second} {
		out := c.read(m, id, procmgr.OutputRequest{Members: true})
		own := make(map[int]bool)
		for _, member := range out.Members {
			if member.PID <= 0 || seen[member.PID] {
				c.errorf("a member of %q is of another process too, or has no pid: %+v", id, member)
			}
			own[member.PID], seen[member.PID] = true, true
		}
		if out.Process.PID != 0 && !own[out.Process.PID] {
			c.errorf("the leader of %q is %d, and Members has %+v", id, out.Process.PID, out.Members)
		}
		children := slices.ContainsFunc(out.Members, func(m procmgr.Member) bool { return own[m.Parent] })
		if id == first && !children {
			c.errorf("a shell with a child has the members %+v", out.Members)
		}
		if out := c.look(m, id); out.Members != nil {
			c.errorf("Members is %+v, and nobody has asked for it", out.Members)
		}
	}
}

func membersExited(c *check) {
	m := c.chat("a")
	id := c.run(m, "exit 0").Process.ID
	if !c.tellsMembers(m, id) {
		return
	}
	if out := c.read(m, id, procmgr.OutputRequest{Members: true}); len(out.Members) > 0 {
		c.errorf("a process that has exited has the members %+v", out.Members)
	}
}
