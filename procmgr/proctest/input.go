package proctest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

var inputCases = []testCase{
	{"writes", "Input writes Data to the stdin of a process that was started with one, and returns the output from the offset before the write on; Until matches nothing that stood there before; or Start fails with errors.ErrUnsupported", piped(numbers, func(c *check, m *view, id string) {
		for _, tt := range []struct{ data, until, want string }{{"one\n", "^1 one$", "1 one\n"}, {"two\nthree\n", "^3 three$", "2 two\n3 three\n"}} {
			out := m.input(id, procmgr.InputRequest{Data: []byte(tt.data), Until: tt.until, Wait: c.long})
			c.errorIf(out.Process.ID != id || !out.Matched || out.Text != tt.want || out.Written != len(tt.data),
				"Input of %q to the process %q returned %d bytes written, Matched %v, the process %q and the output %s, not %q", tt.data, id, out.Written, out.Matched, out.Process.ID, excerpt(out.Text), tt.want)
		}
		out := m.input(id, procmgr.InputRequest{Data: []byte("x\n"), Until: "^3 three$", Wait: 6 * brief})
		c.errorIf(out.Matched, "a wait for \"^3 three$\" matched %q, which stood there before the write", out.MatchedLine)
	})},
	{"once", "what Input writes with one key is written once: a request with a key that the process has seen writes nothing, and answers with the output from the offset of the first one; with other Data, Keys, Close or Secret it fails with ErrConflict", piped(numbers, inputOnce)},
	{"close", "Close ends the input of a pipe, and Data after that is ErrInvalid", piped("cat; echo end; exec sleep 600", func(c *check, m *view, id string) {
		out := m.input(id, procmgr.InputRequest{Data: []byte("last\n"), Close: true, Until: "^end$", Wait: c.long})
		c.text(out.Output, "last\nend\n")
		c.is(errOf(m.tryInput(id, procmgr.InputRequest{Data: []byte("more\n")})), procmgr.ErrInvalid, "Input after Close")
	})},
	{"no reader", "Input fails with ErrNotRunning if nobody can read the stdin of the process any more, and with ErrNotFound if there is no such process", piped("exec <&-; echo ready; exec sleep 600", func(c *check, m *view, id string) {
		x := procmgr.InputRequest{Data: []byte("x")}
		m.until(id, 0, "^ready$")
		var err error
		// A process that is being started at that moment may have the stdin, too, until
		// its exec.
		c.eventually("that Input to a process that has closed its stdin fails", func() bool {
			_, err = m.tryInput(id, x)
			return err != nil
		})
		c.is(err, procmgr.ErrNotRunning, "Input to a process that has closed its stdin")
		exited := m.runAs(procmgr.StartRequest{Command: "true", Stdin: procmgr.StdinPipe}).Process.ID
		c.is(errOf(m.tryInput(exited, x)), procmgr.ErrNotRunning, "Input to a process that has ended")
		c.is(errOf(m.tryInput(c.id(), x)), procmgr.ErrNotFound, "Input to a process that does not exist")
	})},
	{"no stdin", "Input to a process that was started without a stdin fails with ErrInvalid, and so do Keys and Secret on a pipe; to a process of another chat it fails with ErrNotFound", piped(numbers, func(c *check, m *view, id string) {
		x := []byte("x\n")
		c.is(errOf(m.tryInput(m.sleeper(), procmgr.InputRequest{Data: x})), procmgr.ErrInvalid, "Input to a process with an empty stdin")
		for what, req := range map[string]procmgr.InputRequest{
			"a key":           {Data: x, Keys: []procmgr.Key{"enter"}},
			"a secret":        {Data: x, Secret: true},
			"too much data":   {Data: make([]byte, 64<<10+1)},
			"a bad pattern":   {Data: x, Until: "("},
			"a bad key of it": {IdempotencyKey: "not a key", Data: x},
		} {
			c.is(errOf(m.tryInput(id, req)), procmgr.ErrInvalid, "Input to a pipe with %s", what)
		}
		c.is(errOf(c.chat("b").tryInput(id, procmgr.InputRequest{Data: x})), procmgr.ErrNotFound, "Input to a process of another chat")
		m.closes(id, "end\n")
	})},
	{"part of the start", "Stdin belongs to what an ID stands for: with another one, Start is ErrConflict", piped("true", func(c *check, m *view, id string) {
		req := procmgr.StartRequest{ID: id, Command: "true", Stdin: procmgr.StdinPipe}
		if out, err := m.tryStart(req); err != nil || !out.Attached {
			c.errorf("the same Start again returned Attached %v and %s", out.Attached, told(err))
		}
		other := req
		other.Stdin = procmgr.StdinEmpty
		c.is(errOf(m.tryStart(other)), procmgr.ErrConflict, "Start with the ID of a process with the stdin %q, with the stdin %q", req.Stdin, other.Stdin)
	})},
	{"together", "the bytes of one request stay together, whoever else writes", piped(`while read -r x; do echo "${#x} $(printf %s "$x" | tr -s abcd)"; done`, inputTogether)},
	{"until quiet", "a wait with UntilQuiet ends when the output has been quiet for so long, counted from the first output after the write", piped(`while read -r x; do echo "$x 1"; sleep 0.1; echo "$x 2"; done`, func(c *check, m *view, id string) {
		out := m.input(id, procmgr.InputRequest{Data: []byte("x\n"), UntilQuiet: 3 * time.Second, Wait: c.long})
		c.errorIf(out.Text != "x 1\nx 2\n", "a wait for a quiet of 3 s returned the output %s, of lines that are 0.1 s apart", excerpt(out.Text))
	})},
	{"terminal", "StdinTerminal is a terminal of 120 columns and 40 rows: Keys are pressed on it, and Output.Screen shows it; or Start fails with errors.ErrUnsupported", inputTerminal},
	{"secret", "a Secret is written only once the program has turned the echo off; if it does not, Input fails with ErrNotReady and writes nothing", inputSecret},
	{"waits", "if the host can tell that a member waits for input, UntilWaiting ends a wait then, Waiting says which in outputs and lists, and the event waiting comes once for each time", piped(`echo first; read -r x; echo second; read -r x; exec sleep 600`, inputWaiting)},
	{"does not wait", "Waiting is nil for a process whose stdin is empty, and for one that does not read, whatever it has printed", piped("echo 'Overwrite? [y/N] '; exec sleep 600", func(c *check, m *view, id string) {
		pipeline, _ := m.opened(procmgr.StartRequest{Command: "echo 'Overwrite? [y/N] '; sleep 600 | cat", Stdin: procmgr.StdinPipe})
		empty := m.start(procmgr.StartRequest{Command: "echo 'Overwrite? [y/N] '; exec sleep 600"}).Process.ID
		for _, id := range []string{id, pipeline, empty} {
			if out := m.read(id, procmgr.OutputRequest{Wait: time.Second, UntilWaiting: true}); out.Process.Waiting != nil {
				c.errorf("%q with the stdin %q does not wait for input, and Waiting is %+v", out.Process.Command, out.Process.Stdin, out.Process.Waiting)
			}
		}
		for _, p := range m.list() {
			c.errorIf(p.Waiting != nil,
				"%q with the stdin %q does not wait for input, and in the list Waiting is %+v", p.Command, p.Stdin, p.Waiting)
		}
	})},
}

// numbers is a command that numbers the lines of its stdin.
const numbers = `n=0; while read -r x; do n=$((n+1)); echo "$n $x"; done; echo end`

// piped is a case with a process that has a pipe as its stdin. If the host cannot do
// that, there is nothing to look at.
func piped(command string, run func(c *check, m *view, id string)) func(c *check, m *view) {
	return func(c *check, m *view) {
		if id, ok := m.opened(procmgr.StartRequest{ID: c.id(), Command: command, Stdin: procmgr.StdinPipe}); ok {
			run(c, m, id)
		}
	}
}

// opened starts a command with a stdin. It reports false if the host cannot do
// that, or cannot write to it.
func (v *view) opened(req procmgr.StartRequest) (id string, ok bool) {
	out, err := v.tryStart(req)
	if errors.Is(err, errors.ErrUnsupported) {
		return "", false
	}
	v.c.fatalIf(err != nil, "Start of %.100q with the stdin %q failed: %s", req.Command, req.Stdin, told(err))
	_, err = v.tryInput(out.Process.ID, procmgr.InputRequest{})
	return out.Process.ID, !errors.Is(err, errors.ErrUnsupported)
}

func (v *view) tryInput(id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
	return call(v.c, func() (procmgr.InputOutput, error) { return v.m.Input(v.c.ctx, id, req) })
}

func (v *view) input(id string, req procmgr.InputRequest) procmgr.InputOutput {
	out, err := v.tryInput(id, req)
	v.c.fatalIf(err != nil,
		"Input of %.100q to the process %q, Until %q, UntilWaiting %v, failed: %s; output %s", req.Data, id, req.Until, req.UntilWaiting, told(err), excerpt(out.Text))
	return out
}

// closes closes the stdin of a process, and fails if it has not printed a text at its
// end, of what it has read.
func (v *view) closes(id, text string) {
	v.input(id, procmgr.InputRequest{Close: true})
	if out := v.ended(id); out.Text != text {
		v.c.errorf("of what was written to it, the program had to print %q, and it has printed %s", text, excerpt(out.Text))
	}
}

func inputOnce(c *check, m *view, id string) {
	req := procmgr.InputRequest{IdempotencyKey: "k", Data: []byte("one\n"), Until: "^1 one$", Wait: c.long}
	together(4, func(int) {
		if _, err := m.tryInput(id, req); err != nil {
			c.errorf("Input with a key that another call uses at the same time failed: %s", told(err))
		}
	})
	m.input(id, procmgr.InputRequest{Data: []byte("two\n"), Until: "two$", Wait: c.long})
	if out := m.input(id, req); out.Text != "1 one\n2 two\n" || out.Written != len(req.Data) {
		c.errorf("a repeated Input returned %d bytes written and the output %s", out.Written, excerpt(out.Text))
	}
	for _, req := range []procmgr.InputRequest{{IdempotencyKey: "k", Data: []byte("two\n")}, {IdempotencyKey: "k", Data: []byte("one\n"), Close: true}} {
		c.is(errOf(m.tryInput(id, req)), procmgr.ErrConflict, "Input of %q with the key of other input", req.Data)
	}
	m.closes(id, "1 one\n2 two\nend\n")
}

func inputTogether(c *check, m *view, id string) {
	const length = 12 << 10 // more than a system writes to a pipe in one piece
	together(4, func(i int) {
		line := strings.Repeat(string(rune('a'+i)), length) + "\n"
		if out, err := m.tryInput(id, procmgr.InputRequest{Data: []byte(line), Wait: c.long}); err != nil || out.Written != len(line) {
			c.errorf("Input beside other calls wrote %d of %d bytes: %s", out.Written, len(line), told(err))
		}
	})
	m.input(id, procmgr.InputRequest{Close: true})
	for line := range strings.Lines(m.ended(id).Text) {
		if n, letters, _ := strings.Cut(strings.TrimSpace(line), " "); n != fmt.Sprint(length) || len(letters) != 1 {
			c.errorf("a line that one request wrote arrived as %s, its length and its letters", excerpt(line))
		}
	}
}

func inputTerminal(c *check, m *view) {
	id, ok := m.opened(procmgr.StartRequest{
		Command: `test -t 0 && test -t 1 && echo terminal; stty size; read -r x; echo "got $x"; exec sleep 600`,
		Stdin:   procmgr.StdinTerminal,
	})
	if !ok {
		return
	}
	if out := m.until(id, 0, "^[0-9]+ [0-9]+$"); !strings.HasPrefix(out.Text, "terminal\n40 120") {
		c.fatalf("a command on a terminal of 120 columns and 40 rows finds %s", excerpt(out.Text))
	}
	got := m.input(id, procmgr.InputRequest{Data: []byte("xx"), Keys: []procmgr.Key{"backspace", "enter"}, Until: "^got x$", Wait: c.long})
	c.errorIf(!got.Matched || got.Written != 2, "two characters, backspace and enter came to %s, %d bytes written", excerpt(got.Text), got.Written)
	out := m.read(id, procmgr.OutputRequest{Screen: true})
	c.errorIf(out.Screen == nil || len(out.Screen.Rows) != 40 || out.Screen.Rows[1] != "40 120" || out.Screen.Alternate,
		"the screen is %+v, and its second row had to be \"40 120\"", out.Screen)
}

func inputSecret(c *check, m *view) {
	id, ok := m.opened(procmgr.StartRequest{Command: `echo ready; read -r x; stty -echo; echo now; read -r y; stty echo; echo "it has ${#y}"; exec sleep 600`, Stdin: procmgr.StdinTerminal})
	if !ok {
		return
	}
	m.until(id, 0, "^ready$")
	enter := []procmgr.Key{"enter"}
	secret := procmgr.InputRequest{Data: []byte("hush"), Keys: enter, Secret: true, Wait: brief}
	c.is(errOf(m.tryInput(id, secret)), procmgr.ErrNotReady, "Input of a secret to a program that shows what is typed")
	m.input(id, procmgr.InputRequest{Keys: enter, Until: "^now$", Wait: c.long})
	secret.Until, secret.Wait = "^it has 4$", c.long
	if out := m.input(id, secret); !out.Matched {
		c.errorf("the program that has turned the echo off printed %s", excerpt(out.Text))
	}
	if out := m.look(id); strings.Contains(out.Text, "hush") {
		c.errorf("the secret is in the output %s", excerpt(out.Text))
	}
}

func inputWaiting(c *check, m *view, id string) {
	// A host that cannot tell never does, and one that can has 3 s for that.
	for began := time.Now(); m.read(id, procmgr.OutputRequest{Wait: brief}).Process.Waiting == nil; {
		if time.Since(began) > 3*time.Second {
			return
		}
	}
	asks := func(out procmgr.Output) {
		if w := out.Process.Waiting; w == nil || w.PID <= 0 || w.Since.IsZero() || w.Secret {
			c.fatalf("the process %q waits for input, and Waiting is %+v", out.Process.ID, w)
		}
	}
	asks(m.read(id, procmgr.OutputRequest{Wait: c.long, UntilWaiting: true}))
	written := m.input(id, procmgr.InputRequest{Data: []byte("x\n"), Wait: c.long, UntilWaiting: true}).Output
	asks(written)
	c.text(written, "second\n")
	if p := m.listed(); p.Waiting == nil || p.Waiting.PID != written.Process.Waiting.PID {
		c.errorf("the process %q waits for input, and in the list Waiting is %+v", id, p.Waiting)
	}
	if m.tellsEvents() {
		page := m.events(procmgr.EventsRequest{})
		c.tells("a process has begun to wait for input twice", page, id+" started", id+" waiting", id+" waiting")
		c.errorIf(page.Events[1].Process.Waiting == nil, "an event says that the process %q waits for input, and its Waiting is nil", id)
	}
	asks(m.start(procmgr.StartRequest{Command: "read -r x", Stdin: procmgr.StdinPipe, Wait: c.long, UntilWaiting: true}))
}
