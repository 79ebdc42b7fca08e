package proctest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolproc/toolproc/procmgr"
)

var waitCases = []testCase{
	{"ends at the time", "a wait returns when its time is up at the latest, and does not end the process", func(c *check, m *view) {
		id := m.sleeper()
		for _, until := range []string{"", "no such line"} {
			out := m.lasts(id, procmgr.OutputRequest{Until: until})
			c.errorIf(out.Matched, "the time of a wait with Until %q was up, and Matched is true", until)
			c.text(out, "ready\n")
			m.runs(id, "after the time of a wait was up")
		}
	}},
	{"the longest", "a wait may be as long as the longest time.Duration", func(c *check, m *view) {
		const forEver = time.Duration(math.MaxInt64)
		c.result(m.start(procmgr.StartRequest{Command: "exit 3", Wait: forEver}), 3, "")
		p := m.puppet()
		answer := m.reading(c.ctx, p.id, procmgr.OutputRequest{Until: "never", State: procmgr.Running, Wait: forEver})
		p.tell("exit 4")
		out, err := answer()
		c.fatalIf(err != nil, "the longest wait for a process that has exited failed: %s", told(err))
		c.result(out, 4, "ready\n")
	}},
	{"after the exit", "a wait for an exited process ends at once", func(c *check, m *view) {
		id := m.run("echo done").Process.ID
		for _, req := range []procmgr.OutputRequest{{}, {Until: "no such line"}, {From: 5}, {From: 5, Until: "."}, {From: 99, Until: "."}} {
			req.Wait = c.long
			if out := m.read(id, req); out.Matched {
				c.errorf("nothing matches Until %q from %d on, and Matched is true", req.Until, req.From)
			}
		}
	}},
	{"state", "a wait with a State ends at once if the process has another state, and goes on if it has that one", func(c *check, m *view) {
		id := m.sleeper()
		for _, until := range []string{"", "no such line"} {
			for _, state := range []procmgr.State{procmgr.Detached, procmgr.Exited} {
				out := m.read(id, procmgr.OutputRequest{Wait: c.long, State: state, Until: until})
				c.errorIf(out.Matched || out.Process.State != procmgr.Running,
					"the process runs, and a wait with a State returned the state %q, Matched %v", out.Process.State, out.Matched)
			}
			m.lasts(id, procmgr.OutputRequest{State: procmgr.Running, Until: until})
		}
		id = m.run("sleep 600 & exit 3").Process.ID
		c.detached(m.read(id, procmgr.OutputRequest{Wait: c.long, State: procmgr.Running}).Process, "3")
	}},
	{"many at once", "a change of the state ends all waits for the process", func(c *check, m *view) {
		p := m.puppet()
		var answers []func() (procmgr.Output, error)
		for i := range 12 {
			answers = append(answers, []*view{m, c.host}[i%2].reading(c.ctx, p.id, procmgr.OutputRequest{Wait: c.long}))
		}
		p.tell("exit 2")
		for _, answer := range answers {
			out, err := answer()
			c.fatalIf(err != nil, "one of several waits for a process that has exited failed: %s", told(err))
			c.result(out, 2, "ready\n")
		}
	}},
	{"context ends", "ctx bounds the call: if it ends, or has ended before, a wait returns its error, and the process lives on", func(c *check, m *view) {
		p := m.puppet()
		for _, until := range []string{"", "no such line"} {
			req := procmgr.OutputRequest{Wait: c.long, Until: until}
			ctx, cancel := context.WithCancel(c.ctx)
			answer := m.reading(ctx, p.id, req)
			m.look(p.id) // takes about as long as the wait takes to begin
			cancel()
			c.is(errOf(answer()), context.Canceled, "a wait with Until %q whose ctx ended", until)
			c.is(errOf(m.tryReadIn(ctx, p.id, req)), context.Canceled, "a wait with Until %q whose ctx had ended before", until)
			ctx, cancel = context.WithTimeout(c.ctx, brief)
			_, err := m.tryReadIn(ctx, p.id, req)
			cancel()
			c.is(err, context.DeadlineExceeded, "a wait with Until %q whose ctx had a deadline", until)
		}
		p.exits("echo alive; exit 3", "alive\n", 3)
	}},
}

// lasts waits for a time in which nothing happens, and fails if the wait ends before.
func (v *view) lasts(id string, req procmgr.OutputRequest) procmgr.Output {
	req.Wait = brief
	began := time.Now()
	out := v.read(id, req)
	if took := time.Since(began); took < brief {
		v.c.errorf("a wait with the request %+v, in which nothing happened, returned after %v", req, took)
	}
	return out
}

var untilCases = []testCase{
	{"what is there already", "Until returns at once if output from From on already matches, even without a wait", func(c *check, m *view) {
		id := m.begin("echo listening on 80; echo ready; exec sleep 600")
		m.matches(id, 0, "listening on [0-9]+", "(?i)READY")
		m.misses(id, 0, "never")
		for range 2 { // before and after the end
			out := m.read(id, procmgr.OutputRequest{Until: "^listening"})
			c.errorIf(!out.Matched, "the output already matches Until, and without a wait Matched is false; state %q", out.Process.State)
			c.text(out, "listening on 80\nready\n")
			if out.Process.State == procmgr.Running {
				m.kill(id)
			}
		}
	}},
	{"line by line", "Until matches line by line: ^ and $ are the ends of a line, no match spans two lines, and no line before From counts", func(_ *check, m *view) {
		id := m.run(`printf 'alpha\nbeta\n\nlisten\ning\n'`).Process.ID
		m.matches(id, 0, "^beta$", "^alpha", "a$", "^$")
		m.misses(id, 0, "listening", "(?s)alpha.beta")
		m.matches(id, 2, "^pha$")
		m.misses(id, 2, "^alpha$")
	}},
	{"what arrives later", "Until returns as soon as a line that arrives during the wait matches, even if it is unfinished: a prompt has no newline", func(c *check, m *view) {
		p := m.puppet()
		p.arrived("^listening on [0-9]+$", "echo compiling; echo listening on 8080", "compiling\nlistening on 8080\n")
		p.arrived("password: $", "printf 'pass'; printf 'word: '", "password: ")
		m.matches(p.id, p.end, "^password")
		m.matches(p.id, p.end+4, "^word: $")
		m.misses(p.id, p.end, "password:$")
	}},
	{"any new output", "Until \".\" matches any new output, even an empty line, and no output before From", func(c *check, m *view) {
		p := m.puppet()
		m.matches(p.id, 0, ".")
		m.misses(p.id, p.end, ".")
		m.misses(p.id, p.end+100, ".")
		p.arrived(".", "echo", "\n")
	}},
	{"beyond the end", "if From lies beyond the end, Until sees the output from the call on", func(c *check, m *view) {
		// It goes on printing, because a wait that begins late sees only later
		// lines.
		id := m.begin("echo ready; while sleep 0.05; do echo needle; done")
		if out := m.until(id, 1<<40, "^needle$"); !strings.HasPrefix(out.Text, "needle\n") {
			c.errorf("From lay beyond the end, a line was printed after the call, and Until returned %q", out.Text)
		}
	}},
	{"first 4 KiB of a line", "Until sees the first 4 KiB of each line, and no more", func(_ *check, m *view) {
		line := func(before int) string {
			return m.run(fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x; echo yes", before)).Process.ID
		}
		m.matches(line(0), 0, "yes")
		m.matches(line(4093), 0, "yes")
		m.misses(line(4094), 0, "yes")
		m.misses(line(9000), 0, "yes")
	}},
	{"ends with the process", "a wait with Until ends with the process, and says whether the last output matched", func(c *check, m *view) {
		p := m.puppet()
		out := p.waiting(procmgr.OutputRequest{Until: "never", State: procmgr.Running}, "printf 'last words'; exit 6")
		c.result(out, 6, "ready\nlast words")
		c.errorIf(out.Matched, "no line matches Until \"never\", and Matched is true")
		m.matches(p.id, 0, "last")
		m.misses(p.id, 0, "never")
	}},
	{"what is dropped meanwhile", "Until sees every line that arrives during the wait, even if the host then drops the line from the output it keeps", func(c *check, m *view) {
		// No call tells when the wait of another call has begun. So the line may be
		// gone before the wait begins, and then another attempt gets more time.
		const hay = "i=0; while [ $i -lt 3000 ]; do echo hay hay hay hay hay hay $i; i=$((i+1)); done; "
		for d := 20 * time.Millisecond; d < time.Second; d *= 3 {
			p := m.puppet()
			out := m.meanwhile(p.id, procmgr.OutputRequest{From: p.end, Until: "^needle$"}, func() {
				time.Sleep(d)
				p.tell(hay + "echo needle; " + hay + "exit 0")
			})
			if out.Matched {
				return
			}
		}
		c.errorf("a line matched Until during the wait, more output followed than the host keeps, and Matched is false")
	}},
	{"several at once", "each wait has an Until of its own", func(c *check, m *view) {
		p := m.puppet()
		var answers []func() (procmgr.Output, error)
		for i := range 4 {
			answers = append(answers, m.reading(c.ctx, p.id, procmgr.OutputRequest{From: p.end, Until: fmt.Sprintf("^line %d$", i), Wait: c.long}))
		}
		for i, answer := range answers {
			p.tell(fmt.Sprintf("echo line %d", i))
			if out, err := answer(); err != nil || !out.Matched || !strings.HasSuffix(out.Text, fmt.Sprintf("line %d\n", i)) {
				c.fatalf("one of several waits, for the line %d, returned %s, Matched %v, %q", i, told(err), out.Matched, out.Text)
			}
		}
	}},
	{"refuses", "Until fails with ErrInvalid if the pattern is no RE2 expression, has over 256 bytes, compiles to over 1,000 instructions, or wants a newline or text behind a $", func(c *check, m *view) {
		running, exited := m.sleeper(), m.run("true").Process.ID
		for _, pattern := range []string{"(", `(a)\1`, "a(?=b)", strings.Repeat("x", 257), "(a{30}){40}", "a{1001}", `ready\n`, "ready\nready", "a$b"} {
			for _, id := range []string{running, exited} {
				c.is(errOf(m.tryRead(id, procmgr.OutputRequest{Until: pattern, Wait: c.long})), procmgr.ErrInvalid, "Output with the pattern %s", excerpt(pattern))
			}
		}
		m.matches(running, 0, "ready|"+strings.Repeat("x", 250)) // 256 bytes
	}},
}

// arrived waits with Until for what an order prints. The next text is behind that.
func (p *puppet) arrived(until, order, text string) {
	p.end = p.next
	out := p.waiting(procmgr.OutputRequest{From: p.end, Until: until}, order)
	p.c.errorIf(!out.Matched || out.Process.State != procmgr.Running,
		"%q was printed, which Until %q matches, and Matched is %v, state %q", text, until, out.Matched, out.Process.State)
	p.c.text(out, text)
	p.next = out.Next
}

// matches fails if output from an offset on does not match each of some patterns.
func (v *view) matches(id string, from int64, patterns ...string) {
	for _, pattern := range patterns {
		v.until(id, from, pattern)
	}
}

// misses fails if output from an offset on matches one of some patterns.
func (v *view) misses(id string, from int64, patterns ...string) {
	for _, pattern := range patterns {
		if out := v.read(id, procmgr.OutputRequest{From: from, Until: pattern}); out.Matched {
			v.c.errorf("Until %q matches nothing from %d on, and Matched is true; output %s", pattern, from, excerpt(out.Text))
		}
	}
}

var searchCases = []testCase{
	{"the line that matched", "a match of Until tells its line, in at most 300 bytes, and the offset at which that begins", searchTells},
	{"what was not searched", "a search by Until tells how many bytes it has not looked at: what was no longer kept, and what lies beyond the first 4 KiB of its line", searchOmits},
}

func searchTells(c *check, m *view) {
	p := m.puppet()
	p.tell("echo compiling; echo listening on 80; echo; printf 'password: '")
	end := p.end + int64(len("compiling\nlistening on 80\n\npassword: "))
	m.until(p.id, 0, "^password: $")
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
		{0, "never", "", 0},
	} {
		out := m.read(p.id, procmgr.OutputRequest{From: tt.from, Until: tt.pattern})
		c.errorIf(out.Matched != (tt.pattern != "never") || out.MatchedLine != tt.line || out.MatchedAt != tt.at,
			"Until %q from %d on: Matched is %v, in the line %q at %d, not %q at %d", tt.pattern, tt.from, out.Matched, out.MatchedLine, out.MatchedAt, tt.line, tt.at)
	}
	out := p.waiting(procmgr.OutputRequest{From: end, Until: "^later"}, "echo secret; echo later")
	c.errorIf(out.MatchedLine != "later" || out.MatchedAt != end+int64(len("secret\n")),
		"a line that was printed during the wait matches, and is told as %q at %d", out.MatchedLine, out.MatchedAt)
	id := m.run(`printf 'first\n'; head -c 2000 /dev/zero | tr '\0' x; printf '\303\244NEEDLE\303\244'; head -c 1000 /dev/zero | tr '\0' y`).Process.ID
	out = m.read(id, procmgr.OutputRequest{Until: "N.*E"})
	if line := out.MatchedLine; len(line) > 300 || !strings.Contains(line, "NEEDLE") || !utf8.ValidString(line) || out.MatchedAt != int64(len("first\n")) {
		c.errorf("a match in a long line is told as %s at %d", excerpt(line), out.MatchedAt)
	}
}

func searchOmits(c *check, m *view) {
	omits := func(id string, req procmgr.OutputRequest, want int64) {
		if out := m.read(id, req); out.Unsearched != want {
			c.errorf("a search with the request %+v has not looked at %d bytes, and says %d", req, want, out.Unsearched)
		}
	}
	id := m.begin("echo one; echo ready; exec sleep 600")
	for _, req := range []procmgr.OutputRequest{{Until: "never"}, {Until: "never", From: 4}, {Until: "never", From: 1 << 40}, {Until: "never", Wait: brief}, {Until: "one"}, {Until: "."}, {}} {
		omits(id, req, 0)
	}
	const line = 9000
	id = m.run(fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x; echo; echo end", line)).Process.ID
	for from, want := range map[int64]int64{0: line - 4096, 1000: line - 1000 - 4096, line: 0} {
		omits(id, procmgr.OutputRequest{Until: "never", From: from}, want)
	}
	// Whatever a host keeps: it has searched a line, or says that it has not.
	id = m.begin("i=0; while [ $i -lt 20000 ]; do echo hay hay hay hay $i; i=$((i+1)); done; echo ready; exec sleep 600")
	for _, wait := range []time.Duration{0, brief} {
		found := m.read(id, procmgr.OutputRequest{Until: "^hay hay hay hay 10000$", Wait: wait})
		switch {
		case found.Matched && found.MatchedLine != "hay hay hay hay 10000":
			c.errorf("the line %q was found for another", found.MatchedLine)
		case !found.Matched && found.Unsearched <= 0, found.Unsearched > found.Next:
			c.errorf("a line was printed among %d bytes, a search with a wait of %v has not found it, and says that it has not looked at %d", found.Next, wait, found.Unsearched)
		}
	}
}

var portsCases = []testCase{
	{"until listening", "a wait with UntilListening ends once the process listens on that port, and Listening names the socket: this process's alone, and only if Ports or UntilListening asks for it; or the error is errors.ErrUnsupported", portsUntil},
	{"no such port", "UntilListening below -1 or over 65535 is ErrInvalid, or errors.ErrUnsupported", func(c *check, m *view) {
		id := m.run("exit 0").Process.ID
		for _, port := range []int{-2, 65536} {
			if _, err := m.tryRead(id, procmgr.OutputRequest{UntilListening: port}); !isOneOf(err, procmgr.ErrInvalid, errors.ErrUnsupported) {
				c.errorf("Output with UntilListening %d had to fail, and the result is %s", port, told(err))
			}
		}
	}},
}

// listens is a command of one line that listens on a port of 127.0.0.1 and prints "port N".
// It ends by itself in ten minutes. It needs one of the programs in listeners.
const listens = `if command -v perl >/dev/null; then ` +
	`exec perl -MIO::Socket::INET -e '$| = 1; $s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1:0") or die; print "port ", $s->sockport, "\n"; sleep 600'; ` +
	`elif command -v python3 >/dev/null; then ` +
	`exec python3 -c 'import socket, time; s = socket.create_server(("127.0.0.1", 0)); print("port", s.getsockname()[1], flush=True); time.sleep(600)'; ` +
	`else exec node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => console.log("port " + s.address().port)); setTimeout(() => process.exit(), 600000)'; fi`

const listeners = "command -v perl || command -v python3 || command -v node"

// canListen reports whether the host tells ports, and can run a command that
// listens on one. If not, the case has nothing to look at.
func (v *view) canListen() bool {
	out := v.run(listeners)
	asked, err := v.tryRead(out.Process.ID, procmgr.OutputRequest{Ports: true})
	v.c.fatalIf(err != nil && !errors.Is(err, errors.ErrUnsupported), "Output with Ports failed: %s", told(err))
	v.c.errorIf(len(asked.Listening) > 0, "a process that has exited listens on %v", asked.Listening)
	return err == nil && strings.Contains(out.Text, "/")
}

// port waits until a process of the command listens has printed its port.
func (v *view) port(id string) string {
	return strings.TrimPrefix(v.until(id, 0, "^port [0-9]+$").MatchedLine, "port ")
}

// listensOn fails if a process does not have exactly one socket, on a port.
func (c *check) listensOn(out procmgr.Output, port string) {
	if l := out.Listening; len(l) != 1 || l[0].Addr != "127.0.0.1:"+port || l[0].PID <= 0 {
		c.errorf("the process listens on 127.0.0.1:%s, and Listening is %+v", port, l)
	}
}

func portsUntil(c *check, m *view) {
	if !m.canListen() {
		return
	}
	p := m.puppet()
	out := p.waiting(procmgr.OutputRequest{UntilListening: -1}, "("+listens+") &")
	port := m.port(p.id)
	c.listensOn(out, port)
	number, err := strconv.Atoi(port)
	c.fatalIf(err != nil, "the port is %q", port)
	out = m.read(p.id, procmgr.OutputRequest{UntilListening: number, Wait: c.long})
	c.listensOn(out, port)
	c.errorIf(out.Process.State != procmgr.Running,
		"a wait with UntilListening %s for a process that listens has ended when the process was %s", port, out.Process.State)
	other := m.start(procmgr.StartRequest{Command: listens}).Process.ID
	port = m.port(other)
	c.listensOn(m.read(other, procmgr.OutputRequest{Ports: true}), port)
	if out := m.look(other); out.Listening != nil {
		c.errorf("Listening is %v, and it wasn't asked for", out.Listening)
	}
	if out := m.read(m.sleeper(), procmgr.OutputRequest{Ports: true}); len(out.Listening) > 0 {
		c.errorf("a process that listens on nothing has %v", out.Listening)
	}
}
