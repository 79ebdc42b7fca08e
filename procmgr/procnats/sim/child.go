package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"

	"golang.org/x/xerrors"
)

// The program runs itself once more for each server, for the machines, and for
// each agent: so a server or an agent can be killed as the system kills it, and
// the CPU time and the memory of each role can be told from those of the others.
// Parent and child talk in lines: a word, a space, and JSON or text. A child ends
// when its stdin ends, also if the parent was killed.

// roleVariable tells a child what it is, and configVariable how.
const (
	roleVariable   = "TOOLPROC_SIM_ROLE"
	configVariable = "TOOLPROC_SIM_CONFIG"
)

// maxLine is the longest line between parent and child.
const maxLine = 16 << 20

// A child is a process of the simulation.
type child struct {
	name  string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	heard func(word, rest string) // called for each line that is no answer

	asking  sync.Mutex // one question at a time
	answers chan string
	ready   chan struct{} // closed at the word "ready"
	ended   chan struct{} // closed once the process has ended and all is heard
	err     error         // of the process, after ended
}

// startChild runs the program in a role. Close or kill waits for it.
func startChild(name, role string, config any, heard func(word, rest string)) (*child, error) {
	data, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{
		name: name, cmd: exec.Command(self), heard: heard,
		answers: make(chan string, 1), ready: make(chan struct{}), ended: make(chan struct{}),
	}
	c.cmd.Env = append(os.Environ(), roleVariable+"="+role, configVariable+"="+string(data))
	c.cmd.Stderr = os.Stderr
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go c.listen(stdout)
	return c, nil
}

// listen hears the child until it ends.
func (c *child) listen(stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, maxLine)
	isReady := false
	for lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch {
		case word == "ready" && !isReady:
			isReady = true
			close(c.ready)
		case word == "=":
			c.answers <- rest
		default:
			c.heard(word, rest)
		}
	}
	_, _ = io.Copy(io.Discard, stdout) // after a line that was too long
	c.err = c.cmd.Wait()
	close(c.ended)
}

// await waits until the child is ready.
func (c *child) await(ctx context.Context) error {
	select {
	case <-c.ready:
		return nil
	case <-c.ended:
		return xerrors.Errorf("%s ended: %w", c.name, orEOF(c.err))
	case <-ctx.Done():
		return xerrors.Errorf("%s is not ready: %w", c.name, ctx.Err())
	}
}

func orEOF(err error) error {
	if err == nil {
		return io.ErrUnexpectedEOF
	}
	return err
}

// ask asks the child, and reads its answer into v, if that is not nil.
func (c *child) ask(ctx context.Context, question string, v any) error {
	c.asking.Lock()
	defer c.asking.Unlock()
	if _, err := io.WriteString(c.stdin, question+"\n"); err != nil {
		return xerrors.Errorf("%s: %s: %w", c.name, question, err)
	}
	var text string
	select {
	case text = <-c.answers:
	case <-c.ended:
		return xerrors.Errorf("%s: %s: it ended: %w", c.name, question, orEOF(c.err))
	case <-ctx.Done():
		return xerrors.Errorf("%s: %s: %w", c.name, question, ctx.Err())
	}
	var answer struct {
		Error string
		Data  json.RawMessage
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return xerrors.Errorf("%s: %s: %w", c.name, question, err)
	}
	if answer.Error != "" {
		return xerrors.Errorf("%s: %s: %s", c.name, question, answer.Error)
	}
	if v == nil {
		return nil
	}
	return json.Unmarshal(answer.Data, v)
}

// order asks the child to do something, and does not wait.
func (c *child) order(what string) error {
	c.asking.Lock()
	defer c.asking.Unlock()
	if _, err := io.WriteString(c.stdin, "!"+what+"\n"); err != nil {
		return xerrors.Errorf("%s: %s: %w", c.name, what, err)
	}
	return nil
}

// kill ends the child as nothing else does, and waits until all that it has said
// is heard.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it fails if the child has ended
	<-c.ended
}

// close ends the child by the end of its stdin, and waits for it.
func (c *child) close() {
	_ = c.stdin.Close()
	<-c.ended
}

// A parent is the other side, in the child.
type parent struct {
	mu  sync.Mutex // guards the stream, line by line
	out io.Writer
	in  io.Reader
}

// say sends a word, and a value in JSON.
func (p *parent) say(word string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		data, _ = json.Marshal(err.Error())
	}
	p.tell(word, string(data))
}

// tell sends a word and a text. When it returns, the line survives the death of
// this process.
func (p *parent) tell(word, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = io.WriteString(p.out, word+" "+text+"\n") // if the parent has gone, stdin has ended too
}

// serve answers questions until stdin ends.
func (p *parent) serve(answers map[string]func(arg string) (any, error)) error {
	lines := bufio.NewScanner(p.in)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		word, arg, _ := strings.Cut(lines.Text(), " ")
		if order, ok := strings.CutPrefix(word, "!"); ok {
			_, _ = answers[order](arg) // nobody waits for it
			continue
		}
		var answer struct {
			Error string
			Data  any
		}
		if f := answers[word]; f == nil {
			answer.Error = "no such question"
		} else if v, err := f(arg); err != nil {
			answer.Error = err.Error()
		} else {
			answer.Data = v
		}
		p.say("=", answer)
	}
	return lines.Err()
}

// lines sends whole lines.
func (p *parent) lines(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = io.WriteString(p.out, text)
}
