package proctest

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolproc/toolproc/procmgr"
)

var searchCases = []testCase{
	{"the line that matched", "a match of Until tells its line, in at most 300 bytes, and the offset at which that begins", searchTells},
	{"what was not searched", "a search by Until tells how many bytes it has not looked at: what was no longer kept, and what lies beyond the first 4 KiB of its line", searchOmits},
}

func searchTells(c *check) {
	m := c.chat("a")
	p := c.puppet(m)
	p.tell("echo compiling; echo listening on 80; echo; printf 'password: '")
	end := p.end + int64(len("compiling\nlistening on 80\n\npassword: "))
	c.read(m, p.id, procmgr.OutputRequest{Until: "^password: $", Wait: c.long})
	for _, tt := range []struct {
		from    int64
		pattern string
		line    string
		at      int64
	}{
		{0, "^read", "ready", 0},
		{0, "on [0-9]+$", "listening on 80", p.end + 10},
		{p.end + 12, "on [0-9]+$", "stening on 80", p.end + 12},
		{p.end, "^$", "", p.end + 26},
		{0, "word", "password: ", p.end + 27},
		{0, ".", "", 0},
	} {
		out := c.read(m, p.id, procmgr.OutputRequest{From: tt.from, Until: tt.pattern})
		if !out.Matched || out.MatchedLine != tt.line || out.MatchedAt != tt.at {
			c.errorf("Until %q from %d on: Matched is %v, in the line %q at %d, not %q at %d",
				tt.pattern, tt.from, out.Matched, out.MatchedLine, out.MatchedAt, tt.line, tt.at)
		}
	}
	answers := c.reading(c.ctx, m, p.id, procmgr.OutputRequest{From: end, Until: "^later", Wait: c.long})
	p.tell("echo secret; echo later")
	if out := c.of(answers); out.MatchedLine != "later" || out.MatchedAt != end+int64(len("secret\n")) {
		c.errorf("a line that was printed during the wait matches, and is told as %q at %d", out.MatchedLine, out.MatchedAt)
	}
	if out := c.read(m, p.id, procmgr.OutputRequest{Until: "never"}); out.MatchedLine != "" || out.MatchedAt != 0 {
		c.errorf("nothing matches Until \"never\", and the line %q at %d is told", out.MatchedLine, out.MatchedAt)
	}

	id := c.run(m, `printf 'first\n'; head -c 2000 /dev/zero | tr '\0' x; printf '\303\244NEEDLE\303\244'; head -c 1000 /dev/zero | tr '\0' y`).Process.ID
	out := c.read(m, id, procmgr.OutputRequest{Until: "N.*E"})
	if line := out.MatchedLine; len(line) > 300 || !strings.Contains(line, "NEEDLE") || !utf8.ValidString(line) || out.MatchedAt != int64(len("first\n")) {
		c.errorf("a match in a long line is told as %s at %d", excerpt(line), out.MatchedAt)
	}
}

func searchOmits(c *check) {
	m := c.chat("a")
	id := c.begin(m, "echo one; echo ready; exec sleep 600").Process.ID
	for _, req := range []procmgr.OutputRequest{
		{Until: "never"},
		{Until: "never", From: 4},
		{Until: "never", From: 1 << 40},
		{Until: "never", Wait: 50 * time.Millisecond},
		{Until: "one"},
		{Until: "."},
		{},
	} {
		if out := c.read(m, id, req); out.Unsearched != 0 {
			c.errorf("two lines were printed, and a search for %q from %d on has not looked at %d bytes", req.Until, req.From, out.Unsearched)
		}
	}

	const line = 9000
	id = c.run(m, fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x; echo; echo end", line)).Process.ID
	for from, want := range map[int64]int64{0: line - 4096, 1000: line - 1000 - 4096, line: 0} {
		if out := c.read(m, id, procmgr.OutputRequest{Until: "never", From: from}); out.Unsearched != want {
			c.errorf("a line of %d bytes was printed, and a search from %d on has not looked at %d bytes, not %d", line, from, out.Unsearched, want)
		}
	}

	// Whatever a host keeps: it has searched a line, or says that it has not.
	out := c.begin(m, "i=0; while [ $i -lt 20000 ]; do echo hay hay hay hay $i; i=$((i+1)); done; echo ready; exec sleep 600")
	for _, wait := range []time.Duration{0, 50 * time.Millisecond} {
		found := c.read(m, out.Process.ID, procmgr.OutputRequest{Until: "^hay hay hay hay 10000$", Wait: wait})
		switch {
		case found.Matched && found.MatchedLine != "hay hay hay hay 10000":
			c.errorf("the line %q was found for another", found.MatchedLine)
		case !found.Matched && found.Unsearched <= 0:
			c.errorf("a line was printed among %d bytes, a search with a wait of %v has not found it, and says that it has looked at all", found.Next, wait)
		case found.Unsearched > found.Next:
			c.errorf("of %d bytes a search has not looked at %d", found.Next, found.Unsearched)
		}
	}
}
