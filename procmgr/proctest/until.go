package proctest

import (
	"fmt"
	"strings"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

var untilCases = []testCase{
	{"what is there already", "Until returns at once if output from From on already matches, even without a wait", untilThere},
	{"what arrives later", "Until returns as soon as a line that arrives during the wait matches", untilLater},
	{"line by line", "Until matches line by line: ^ and $ are the ends of a line, and no match spans two lines", untilLines},
	{"the unfinished line", "Until sees the unfinished last line: a prompt has no newline", untilUnfinished},
	{"any new output", "Until \".\" matches any new output, even an empty line, and no output before From", untilAny},
	{"beyond the end", "if From lies beyond the end, Until sees the output from the call on", untilBeyond},
	{"before From", "Until does not see the output before From", untilBefore},
	{"first 4 KiB of a line", "Until sees the first 4 KiB of each line, and no more", untilLongLine},
	{"ends with the process", "a wait with Until ends with the process, and says whether the last output matched", untilEnds},
	{"what is dropped meanwhile", "Until sees every line that arrives during the wait, even if the host then drops the line from the output it keeps", untilFlood},
	{"several at once", "each wait has an Until of its own", untilSeveral},
	{"refuses", "Until fails with ErrInvalid if the pattern is no RE2 expression, has over 256 bytes, compiles to over 1,000 instructions, or can match no line", untilRefuses},
}

// untils reads with each pattern, and fails if the result is not the wanted
// one. It waits only for a pattern that must match.
func (c *check) untils(m procmgr.Manager, id string, tests []untilTest) {
	c.Helper()
	for _, tt := range tests {
		req := procmgr.OutputRequest{From: tt.from, Until: tt.pattern}
		if tt.want {
			req.Wait = c.long
		}
		began := time.Now()
		out := c.read(m, id, req)
		c.prompt(began, fmt.Sprintf("Until %q from %d on matches output that was already there, and the wait went on", tt.pattern, tt.from))
		if out.Matched != tt.want {
			c.errorf("Until %q from %d on: Matched is %v, not %v; output %s", tt.pattern, tt.from, out.Matched, tt.want, excerpt(out.Text))
		}
	}
}

type untilTest struct {
	from    int64
	pattern string
	want    bool
}

func untilThere(c *check) {
	m := c.chat("a")
	id := c.begin(m, "echo listening on 80; echo ready; exec sleep 600").Process.ID
	c.untils(m, id, []untilTest{{0, "listening on [0-9]+", true}, {0, "(?i)READY", true}, {0, "never", false}})
	for _, state := range []procmgr.State{procmgr.Running, procmgr.Exited} {
		if state == procmgr.Exited {
			c.signal(m, id, procmgr.Kill)
		}
		out := c.read(m, id, procmgr.OutputRequest{Until: "^listening"})
		if !out.Matched {
			c.errorf("the output already matches Until, and without a wait Matched is false; state %q", out.Process.State)
		}
		c.text(out, "listening on 80\nready\n")
	}
}

func untilLater(c *check) {
	m := c.chat("a")
	p := c.puppet(m)
	began := time.Now()
	answers := c.reading(c.ctx, m, p.id, procmgr.OutputRequest{From: p.end, Until: "^listening on [0-9]+$", Wait: c.long})
	p.tell("echo compiling; echo listening on 8080")
	out := c.of(answers)
	c.prompt(began, "a line has matched Until and the wait went on")
	if !out.Matched || out.Process.State != procmgr.Running {
		c.errorf("a line has matched Until, and Matched is %v, state %q", out.Matched, out.Process.State)
	}
	c.text(out, "compiling\nlistening on 8080\n")
}

func untilLines(c *check) {
	m := c.chat("a")
	id := c.run(m, `printf 'alpha\nbeta\n\nlisten\ning\n'`).Process.ID
	c.untils(m, id, []untilTest{
		{0, "^beta$", true},
		{0, "^alpha", true},
		{0, "a$", true},
		{0, "^$", true},
		{0, "listening", false},
		{0, "(?s)alpha.beta", false},
		{2, "^pha$", true},
		{2, "^alpha$", false},
	})
}

func untilUnfinished(c *check) {
	m := c.chat("a")
	p := c.puppet(m)
	answers := c.reading(c.ctx, m, p.id, procmgr.OutputRequest{From: p.end, Until: "password: $", Wait: c.long})
	p.tell("printf 'pass'; printf 'word: '")
	began := time.Now()
	out := c.of(answers)
	c.prompt(began, "the unfinished last line matches Until and the wait went on")
	if !out.Matched {
		c.errorf("the unfinished last line matches Until and Matched is false; output %q", out.Text)
	}
	c.text(out, "password: ")
	c.untils(m, p.id, []untilTest{{p.end, "^password", true}, {p.end + 4, "^word: $", true}, {p.end, "password:$", false}})
}

func untilAny(c *check) {
	m := c.chat("a")
	p := c.puppet(m)
	c.untils(m, p.id, []untilTest{{0, ".", true}, {p.end, ".", false}, {p.end + 100, ".", false}})
	began := time.Now()
	answers := c.reading(c.ctx, m, p.id, procmgr.OutputRequest{From: p.end, Until: ".", Wait: c.long})
	p.tell("echo")
	out := c.of(answers)
	c.prompt(began, "an empty line was printed, and the wait for Until \".\" went on")
	if !out.Matched || out.Text != "\n" {
		c.errorf("an empty line was printed, and Until \".\" returned %q, Matched %v", out.Text, out.Matched)
	}
}

func untilBeyond(c *check) {
	m := c.chat("a")
	// It goes on printing, because a wait that begins late sees only later
	// lines.
	p := c.begin(m, "echo ready; while sleep 0.05; do echo needle; done").Process
	out := c.read(m, p.ID, procmgr.OutputRequest{From: 1 << 40, Until: "^needle$", Wait: c.long})
	if !out.Matched || !strings.HasPrefix(out.Text, "needle\n") {
		c.errorf("From lay beyond the end, a line was printed after the call, and Until returned %q, Matched %v", out.Text, out.Matched)
	}
}

func untilBefore(c *check) {
	m := c.chat("a")
	p := c.puppet(m)
	p.tell("echo needle; echo end")
	out := c.read(m, p.id, procmgr.OutputRequest{From: p.end, Until: "^end$", Wait: c.long})
	c.untils(m, p.id, []untilTest{{p.end, "needle", true}, {p.end + 7, "needle", false}, {out.Next, "end", false}, {out.Next, "ready|needle|end", false}})
	began := time.Now()
	answers := c.reading(c.ctx, m, p.id, procmgr.OutputRequest{From: out.Next, Until: "needle", Wait: c.long})
	p.tell("echo another needle")
	out = c.of(answers)
	c.prompt(began, "a line has matched Until and the wait went on")
	if !out.Matched || out.Text != "another needle\n" {
		c.errorf("Until had to find the needle after From, and returned %q, Matched %v", out.Text, out.Matched)
	}
}

func untilLongLine(c *check) {
	m := c.chat("a")
	for _, tt := range []struct {
		before int
		want   bool
	}{{0, true}, {4093, true}, {4094, false}, {9000, false}} {
		id := c.run(m, fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x; echo yes", tt.before)).Process.ID
		c.untils(m, id, []untilTest{{0, "yes", tt.want}})
	}
}

func untilEnds(c *check) {
	m := c.chat("a")
	for _, until := range []string{"last", "never"} {
		p := c.puppet(m)
		began := time.Now()
		answers := c.reading(c.ctx, m, p.id, procmgr.OutputRequest{Until: "never", Wait: c.long})
		p.tell("printf 'last words'; exit 6")
		out := c.of(answers)
		c.prompt(began, "the process has ended and a wait with Until went on")
		c.exit(out.Process, 6, "", procmgr.CauseExit)
		c.text(out, "ready\nlast words")
		if out.Matched {
			c.errorf("no line matches Until \"never\", and Matched is true")
		}
		c.untils(m, p.id, []untilTest{{0, until, until == "last"}})
	}
}

func untilFlood(c *check) {
	m := c.chat("a")
	// No call tells when the wait of another call has begun. So the line may be
	// gone before the wait begins, and then another attempt gets more time.
	for d := 20 * time.Millisecond; ; d *= 3 {
		p := c.puppet(m)
		answers := c.reading(c.ctx, m, p.id, procmgr.OutputRequest{From: p.end, Until: "^needle$", Wait: c.long})
		time.Sleep(d)
		const hay = "i=0; while [ $i -lt 3000 ]; do echo hay hay hay hay hay hay $i; i=$((i+1)); done; "
		p.tell(hay + "echo needle; " + hay + "exit 0")
		out := c.of(answers)
		if out.Matched {
			return
		}
		if d >= time.Second || d >= c.long {
			c.errorf("a line matched Until during the wait, more output followed than the host keeps, and Matched is false; state %q", out.Process.State)
			return
		}
	}
}

func untilSeveral(c *check) {
	m := c.chat("a")
	p := c.puppet(m)
	began := time.Now()
	var all []<-chan answer
	for i := range 4 {
		all = append(all, c.reading(c.ctx, m, p.id, procmgr.OutputRequest{From: p.end, Until: fmt.Sprintf("^line %d$", i), Wait: c.long}))
	}
	for i, answers := range all {
		p.tell(fmt.Sprintf("echo line %d", i))
		out := c.of(answers)
		if want := fmt.Sprintf("line %d\n", i); !out.Matched || !strings.HasSuffix(out.Text, want) {
			c.errorf("one of several waits, the one for %q, returned %q, Matched %v", want, out.Text, out.Matched)
		}
	}
	c.prompt(began, "lines have matched Until and their waits went on")
}

func untilRefuses(c *check) {
	m := c.chat("a")
	running, exited := c.sleeper(m).Process.ID, c.run(m, "true").Process.ID
	for _, tt := range []struct{ what, pattern string }{
		{"no expression", "("},
		{"a backreference", `(a)\1`},
		{"a lookahead", "a(?=b)"},
		{"257 bytes", strings.Repeat("x", 257)},
		{"too many instructions", "(a{30}){40}"},
		{"too large a repetition", "a{1001}"},
		{"one with a newline", `ready\n`},
		{"two lines", "ready\nready"},
		{"a line's end within it", "a$b"},
	} {
		for _, id := range []string{running, exited} {
			began := time.Now()
			_, err := c.tryRead(m, id, procmgr.OutputRequest{Until: tt.pattern, Wait: c.long})
			c.is(err, procmgr.ErrInvalid, "Output with a pattern that is %s", tt.what)
			c.prompt(began, "Output with a pattern that is "+tt.what+" waited")
		}
	}
	if out := c.read(m, running, procmgr.OutputRequest{Until: "ready|" + strings.Repeat("x", 250), Wait: c.long}); !out.Matched {
		c.errorf("a pattern of 256 bytes matches the output, and Matched is false")
	}
}
