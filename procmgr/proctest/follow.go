package proctest

import (
	"context"
	"strings"

	"github.com/toolproc/toolproc/procmgr"
)

var followCases = []testCase{
	{"whole", "procmgr.Follow yields the output of a process as it was printed, without a gap, and ends with a chunk that has exited", followWhole},
	{"as it comes", "procmgr.Follow yields output while the process runs, and tells each change of its state", followRunning},
	{"from an offset", "procmgr.Follow goes on at the Next of any chunk", followFrom},
}

// followed follows a process to its end, and calls each with every chunk.
func (c *check) followed(m procmgr.Manager, id string, opts procmgr.FollowOptions, each func(procmgr.Chunk)) (text string) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.ctx, 3*c.long)
	defer cancel()
	at := opts.From
	var last procmgr.Chunk
	var b strings.Builder
	for chunk, err := range procmgr.Follow(ctx, m, id, &opts) {
		if err != nil {
			c.fatalf("after %s, Follow failed: %v", excerpt(b.String()), err)
		}
		if chunk.Gap != 0 || chunk.From != at || chunk.Next < at {
			c.fatalf("a chunk ended at %d, and the next one is from %d to %d with a gap of %d bytes", at, chunk.From, chunk.Next, chunk.Gap)
		}
		b.WriteString(chunk.Text)
		at, last = chunk.Next, chunk
		if each != nil {
			each(chunk)
		}
	}
	if last.Process.State != procmgr.Exited {
		c.errorf("Follow ended with the state %q", last.Process.State)
	}
	return b.String()
}

func followWhole(c *check) {
	m := c.chat("a")
	for _, limit := range []int{0, 40} {
		out := c.run(m, "for i in 1 2 3 4 5 6 7 8 9; do echo line $i äöü; done; printf '\\377\\357\\277\\275end'")
		got := c.followed(m, out.Process.ID, procmgr.FollowOptions{Every: -1, Limit: limit}, nil)
		if got != out.Text {
			c.errorf("the output is %s, and Follow yielded %s", excerpt(out.Text), excerpt(got))
		}
	}
}

func followRunning(c *check) {
	m := c.chat("a")
	p := c.puppet(m)
	orders := []string{"echo one", "echo two", "sleep 600 & exit 3"}
	var states []procmgr.State
	got := c.followed(m, p.id, procmgr.FollowOptions{}, func(chunk procmgr.Chunk) {
		if len(orders) > 0 && strings.HasSuffix(chunk.Text, "\n") {
			p.tell(orders[0])
			orders = orders[1:]
		}
		if s := chunk.Process.State; len(states) == 0 || states[len(states)-1] != s {
			if states = append(states, s); s == procmgr.Detached {
				c.signal(m, p.id, procmgr.Kill)
			}
		}
	})
	if want := "ready\none\ntwo\n"; got != want {
		c.errorf("the process printed %q, and Follow yielded %q", want, got)
	}
	if len(states) != 3 || states[1] != procmgr.Detached {
		c.errorf("the process ran, was detached and exited, and the chunks had the states %q", states)
	}
}

func followFrom(c *check) {
	m := c.chat("a")
	out := c.run(m, "printf 'one\\ntwo ä\\377ö\\nthree\\n'")
	text, places := "", map[int64]string{0: out.Text} // the text behind each offset
	c.followed(m, out.Process.ID, procmgr.FollowOptions{Every: -1, Limit: 5}, func(chunk procmgr.Chunk) {
		text += chunk.Text
		places[chunk.Next] = strings.TrimPrefix(out.Text, text)
	})
	if len(places) < 4 {
		c.errorf("with a limit of 5 bytes, %d bytes came in %d chunks", len(out.Text), len(places)-1)
	}
	for at, want := range places {
		if got := c.followed(m, out.Process.ID, procmgr.FollowOptions{Every: -1, From: at}, nil); got != want {
			c.errorf("behind the offset %d the text is %q, and Follow yielded %q", at, want, got)
		}
	}
}
