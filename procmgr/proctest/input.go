package proctest

import (
	"errors"
	"strings"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

var inputCases = []testCase{
	{"writes", "Input writes Data to the stdin of a process that was started with one, and returns the output from the offset before the write on; or Start fails with errors.ErrUnsupported", inputWrites},
	{"once", "what Input writes with one key is written once: a request with a key that the process has seen writes nothing, and answers with the output from the offset of the first one", inputOnce},
	{"another key's data", "Input with a key that has written other Data, Keys, Close or Secret fails with ErrConflict and writes nothing", inputConflict},
	{"close", "Close ends the input of a pipe, and Data after that is ErrInvalid", inputClose},
	{"no reader", "Input fails with ErrNotRunning if nobody can read the stdin of the process any more", inputGone},
	{"no stdin", "Input to a process that was started without a stdin fails with ErrInvalid, and so do Keys and Secret on a pipe", inputInvalid},
	{"part of the start", "Stdin and Size belong to what an ID stands for: with others, Start is ErrConflict", inputFingerprint},
	{"together", "the bytes of one request stay together, whoever else writes", inputTogether},
	{"until", "a wait for Until matches output from the offset before the write on, and nothing that stood there before", inputUntil},
	{"until quiet", "a wait with UntilQuiet ends when the output has been quiet for so long, counted from the first output after the write", inputQuiet},
	{"terminal", "StdinTerminal is a terminal of the size that the request names: Keys are pressed on it, and Output.Screen shows it; or Start fails with errors.ErrUnsupported", inputTerminal},
	{"secret", "a Secret is written only once the program has turned the echo off; if it does not, Input fails with ErrNotReady and writes nothing", inputSecret},
	{"waits", "if the host can tell that a member waits for input, UntilWaiting ends a wait then, Waiting says which in outputs and lists, and the event waiting comes once for each time", inputWaiting},
	{"does not wait", "Waiting is nil for a process whose stdin is empty, and for one that does not read, whatever it has printed", inputNotWaiting},
	{"another chat's", "Input to a process of another chat fails with ErrNotFound", inputIsolated},
}

// opened starts a command with a stdin. It reports false if the host cannot do
// that, or cannot write to it.
func (c *check) opened(m procmgr.Manager, stdin procmgr.Stdin, command string) (id string, ok bool) {
	c.Helper()
	return c.openedAs(m, procmgr.StartRequest{Command: command, Stdin: stdin})
}

func (c *check) openedAs(m procmgr.Manager, req procmgr.StartRequest) (id string, ok bool) {
	c.Helper()
	out, err := c.tryStart(m, req)
	if errors.Is(err, errors.ErrUnsupported) {
		return "", false
	}
	if err != nil {
		c.fatalf("Start of %.100q with the stdin %q failed: %v", req.Command, req.Stdin, err)
	}
	if _, err := c.tryInput(m, out.Process.ID, procmgr.InputRequest{}); errors.Is(err, errors.ErrUnsupported) {
		return "", false
	}
	return out.Process.ID, true
}

func (c *check) tryInput(m procmgr.Manager, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
	var out procmgr.InputOutput
	err := c.bounded(func() error {
		got, err := m.Input(c.ctx, id, req)
		c.mu.Lock()
		defer c.mu.Unlock()
		out = got
		return err
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	return out, err
}

func (c *check) input(m procmgr.Manager, id string, req procmgr.InputRequest) procmgr.InputOutput {
	c.Helper()
	out, err := c.tryInput(m, id, req)
	if err != nil {
		c.fatalf("Input to the process %q failed: %v", id, err)
	}
	return out
}

// prompted waits until a process has printed a line.
func (c *check) prompted(m procmgr.Manager, id, line string) {
	c.Helper()
	if out := c.read(m, id, procmgr.OutputRequest{Until: line, Wait: c.long}); !out.Matched {
		c.fatalf("the process %q never printed %q: output %s", id, line, excerpt(out.Text))
	}
}

// numbers is a command that numbers the lines of its stdin.
const numbers = `n=0; while read -r x; do n=$((n+1)); echo "$n $x"; done; echo end`

func inputWrites(c *check) {
	m := c.chat("a")
	id, ok := c.opened(m, procmgr.StdinPipe, numbers)
	if !ok {
		return
	}
	for _, tt := range []struct{ data, until, want string }{
		{"one\n", "^1 one$", "1 one\n"},
		{"two\nthree\n", "^3 three$", "2 two\n3 three\n"},
	} {
		out := c.input(m, id, procmgr.InputRequest{Data: []byte(tt.data), Until: tt.until, Wait: c.long})
		if out.Process.ID != id || !out.Matched || out.Text != tt.want || out.Written != len(tt.data) {
			c.errorf("Input of %q to the process %q returned %d bytes written, matched %v, the process %q and the output %s, not %q", tt.data, id, out.Written, out.Matched, out.Process.ID, excerpt(out.Text), tt.want)
		}
	}
}

func inputOnce(c *check) {
	m := c.chat("a")
	id, ok := c.opened(m, procmgr.StdinPipe, numbers)
	if !ok {
		return
	}
	req := procmgr.InputRequest{Key: "k", Data: []byte("one\n"), Until: "^1 one$", Wait: c.long}
	together(4, func(int) {
		if _, err := c.tryInput(m, id, req); err != nil {
			c.errorf("Input with a key that another call uses at the same time failed: %v", err)
		}
	})
	c.input(m, id, procmgr.InputRequest{Data: []byte("two\n"), Until: "two$", Wait: c.long})
	if out := c.input(m, id, req); out.Text != "1 one\n2 two\n" || out.Written != len(req.Data) {
		c.errorf("a repeated Input returned %d bytes written and the output %s", out.Written, excerpt(out.Text))
	}
	c.input(m, id, procmgr.InputRequest{Close: true})
	if out := c.ended(m, id); out.Text != "1 one\n2 two\nend\n" {
		c.errorf("after an Input that was repeated, the program has read %s", excerpt(out.Text))
	}
}

func inputConflict(c *check) {
	m := c.chat("a")
	id, ok := c.opened(m, procmgr.StdinPipe, numbers)
	if !ok {
		return
	}
	c.input(m, id, procmgr.InputRequest{Key: "k", Data: []byte("one\n")})
	for _, req := range []procmgr.InputRequest{{Key: "k", Data: []byte("two\n")}, {Key: "k", Data: []byte("one\n"), Close: true}} {
		_, err := c.tryInput(m, id, req)
		c.is(err, procmgr.ErrConflict, "Input of %q with the key of other input", req.Data)
	}
	c.input(m, id, procmgr.InputRequest{Close: true})
	if out := c.ended(m, id); out.Text != "1 one\nend\n" {
		c.errorf("the program has read %s", excerpt(out.Text))
	}
}

func inputClose(c *check) {
	m := c.chat("a")
	id, ok := c.opened(m, procmgr.StdinPipe, "cat; echo end; exec sleep 600")
	if !ok {
		return
	}
	out := c.input(m, id, procmgr.InputRequest{Data: []byte("last\n"), Close: true, Until: "^end$", Wait: c.long})
	if out.Text != "last\nend\n" {
		c.errorf("after Close the output is %s", excerpt(out.Text))
	}
	_, err := c.tryInput(m, id, procmgr.InputRequest{Data: []byte("more\n")})
	c.is(err, procmgr.ErrInvalid, "Input after Close")
}

func inputGone(c *check) {
	m := c.chat("a")
	closed, ok := c.opened(m, procmgr.StdinPipe, "exec <&-; echo ready; exec sleep 600")
	if !ok {
		return
	}
	c.prompted(m, closed, "^ready$")
	var err error
	// A process that is being started at that moment may have the stdin, too, until
	// its exec.
	c.eventually("Input to a process that has closed its stdin is ErrNotRunning", func() bool {
		_, err = c.tryInput(m, closed, procmgr.InputRequest{Data: []byte("x")})
		return err != nil
	})
	c.is(err, procmgr.ErrNotRunning, "Input to a process that has closed its stdin")
	exited, _ := c.opened(m, procmgr.StdinPipe, "true")
	c.ended(m, exited)
	_, err = c.tryInput(m, exited, procmgr.InputRequest{Data: []byte("x")})
	c.is(err, procmgr.ErrNotRunning, "Input to a process that has ended")
	_, err = c.tryInput(m, c.id(), procmgr.InputRequest{Data: []byte("x")})
	c.is(err, procmgr.ErrNotFound, "Input to a process that does not exist")
}

func inputInvalid(c *check) {
	m := c.chat("a")
	pipe, ok := c.opened(m, procmgr.StdinPipe, numbers)
	if !ok {
		return
	}
	_, err := c.tryInput(m, c.sleeper(m).Process.ID, procmgr.InputRequest{Data: []byte("x")})
	c.is(err, procmgr.ErrInvalid, "Input to a process with an empty stdin")
	for _, req := range []procmgr.InputRequest{
		{Data: []byte("x\n"), Keys: []procmgr.Key{"enter"}},
		{Data: []byte("x\n"), Secret: true},
		{Data: make([]byte, procmgr.MaxInput+1)},
		{Data: []byte("x\n"), Until: "("},
		{Key: "not a key", Data: []byte("x\n")},
	} {
		_, err := c.tryInput(m, pipe, req)
		c.is(err, procmgr.ErrInvalid, "Input of %d bytes to a pipe with the keys %v, secret %v, until %q, key %q", len(req.Data), req.Keys, req.Secret, req.Until, req.Key)
	}
	c.input(m, pipe, procmgr.InputRequest{Close: true})
	if out := c.ended(m, pipe); out.Text != "end\n" {
		c.errorf("what was refused was written: %s", excerpt(out.Text))
	}
}

func inputFingerprint(c *check) {
	m := c.chat("a")
	req := procmgr.StartRequest{ID: c.id(), Command: "true", Stdin: procmgr.StdinPipe}
	if _, ok := c.openedAs(m, req); !ok {
		return
	}
	out, err := c.tryStart(m, req)
	if err != nil || !out.Attached {
		c.errorf("the same Start again returned Attached %v and %s", out.Attached, told(err))
	}
	for _, change := range []func(*procmgr.StartRequest){
		func(r *procmgr.StartRequest) { r.Stdin = procmgr.StdinEmpty },
		func(r *procmgr.StartRequest) { r.Size.Cols = 80 },
	} {
		other := req
		change(&other)
		_, err := c.tryStart(m, other)
		c.is(err, procmgr.ErrConflict, "Start with the ID of a process with the stdin %q, with the stdin %q and the size %v", req.Stdin, other.Stdin, other.Size)
	}
}

func inputTogether(c *check) {
	m := c.chat("a")
	id, ok := c.opened(m, procmgr.StdinPipe, `while read -r x; do echo "${#x} $(printf %s "$x" | tr -s abcd)"; done`)
	if !ok {
		return
	}
	const length = 12 << 10 // more than a system writes to a pipe in one piece
	together(4, func(i int) {
		line := strings.Repeat(string(rune('a'+i)), length) + "\n"
		out, err := c.tryInput(m, id, procmgr.InputRequest{Data: []byte(line), Wait: c.long})
		if err != nil || out.Written != len(line) {
			c.errorf("Input beside other calls wrote %d of %d bytes: %s", out.Written, len(line), told(err))
		}
	})
	c.input(m, id, procmgr.InputRequest{Close: true})
	out := c.ended(m, id)
	for line := range strings.Lines(out.Text) {
		if _, letters, _ := strings.Cut(strings.TrimSpace(line), " "); !strings.HasPrefix(line, "12288 ") || len(letters) != 1 {
			c.errorf("a line that one request wrote arrived as %s, its length and its letters", excerpt(line))
		}
	}
}

func inputUntil(c *check) {
	m := c.chat("a")
	id, ok := c.opened(m, procmgr.StdinPipe, `echo prompt; while read -r x; do echo "$x"; done`)
	if !ok {
		return
	}
	c.prompted(m, id, "^prompt$")
	out := c.input(m, id, procmgr.InputRequest{Data: []byte("x\n"), Until: "^prompt$", Wait: 300 * time.Millisecond})
	if out.Matched {
		c.errorf("a wait for \"^prompt$\" matched %q, which stood there before the write", out.MatchedLine)
	}
	out = c.input(m, id, procmgr.InputRequest{Data: []byte("prompt\n"), Until: "^prompt$", Wait: c.long})
	if !out.Matched || out.MatchedLine != "prompt" {
		c.errorf("a wait for \"^prompt$\" did not match what the process printed after the write: %s", excerpt(out.Text))
	}
}

func inputQuiet(c *check) {
	m := c.chat("a")
	id, ok := c.opened(m, procmgr.StdinPipe, `while read -r x; do echo "$x 1"; sleep 0.1; echo "$x 2"; done`)
	if !ok {
		return
	}
	began := time.Now()
	out := c.input(m, id, procmgr.InputRequest{Data: []byte("x\n"), UntilQuiet: 3 * time.Second, Wait: 2 * c.long})
	if out.Text != "x 1\nx 2\n" {
		c.errorf("a wait for a quiet of 3 s returned the output %s, of lines that are 0.1 s apart", excerpt(out.Text))
	}
	c.prompt(began, "a wait for a quiet of 3 s had to end with it")
}

func inputTerminal(c *check) {
	m := c.chat("a")
	id, ok := c.openedAs(m, procmgr.StartRequest{
		Command: `test -t 0 && test -t 1 && echo terminal; stty size; read -r x; echo "got $x"; exec sleep 600`,
		Stdin:   procmgr.StdinTerminal, Size: procmgr.Size{Cols: 77, Rows: 22},
	})
	if !ok {
		return
	}
	out := c.read(m, id, procmgr.OutputRequest{Until: "^22 77$", Wait: c.long})
	if !out.Matched || !strings.HasPrefix(out.Text, "terminal\n") {
		c.fatalf("a command on a terminal of 77 columns and 22 rows finds %s", excerpt(out.Text))
	}
	got := c.input(m, id, procmgr.InputRequest{Data: []byte("xx"), Keys: []procmgr.Key{"backspace", "enter"}, Until: "^got x$", Wait: c.long})
	if !got.Matched || got.Written != 2 {
		c.errorf("two characters, backspace and enter came to %s, %d bytes written", excerpt(got.Text), got.Written)
	}
	out = c.read(m, id, procmgr.OutputRequest{Screen: true})
	if out.Screen == nil || len(out.Screen.Rows) != 22 || out.Screen.Rows[1] != "22 77" || out.Screen.Alternate {
		c.errorf("the screen is %+v, and its second row had to be \"22 77\"", out.Screen)
	}
}

func inputSecret(c *check) {
	m := c.chat("a")
	id, ok := c.opened(m, procmgr.StdinTerminal, `echo ready; read -r x; stty -echo; echo now; read -r y; stty echo; echo "it has ${#y}"; exec sleep 600`)
	if !ok {
		return
	}
	c.prompted(m, id, "^ready$")
	secret := procmgr.InputRequest{Data: []byte("hush"), Keys: []procmgr.Key{"enter"}, Secret: true, Wait: 50 * time.Millisecond}
	_, err := c.tryInput(m, id, secret)
	c.is(err, procmgr.ErrNotReady, "Input of a secret to a program that shows what is typed")
	c.input(m, id, procmgr.InputRequest{Keys: []procmgr.Key{"enter"}, Until: "^now$", Wait: c.long})
	secret.Until, secret.Wait = "^it has 4$", c.long
	if out := c.input(m, id, secret); !out.Matched {
		c.errorf("the program that has turned the echo off printed %s", excerpt(out.Text))
	}
	if out := c.look(m, id); strings.Contains(out.Text, "hush") {
		c.errorf("the secret is in the output %s", excerpt(out.Text))
	}
}

func inputIsolated(c *check) {
	a, b := c.chat("a"), c.chat("b")
	id, ok := c.opened(a, procmgr.StdinPipe, numbers)
	if !ok {
		return
	}
	_, err := c.tryInput(b, id, procmgr.InputRequest{Data: []byte("x\n")})
	c.is(err, procmgr.ErrNotFound, "Input to a process of another chat")
	c.input(a, id, procmgr.InputRequest{Close: true})
	if out := c.ended(a, id); out.Text != "end\n" {
		c.errorf("another chat's input was written: %s", excerpt(out.Text))
	}
}
