package prochttp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// maxStderr is how much of a command's stderr is in an error, in bytes.
	maxStderr = 4 << 10
	// endTime is how long Close waits for a command whose stdin it has closed.
	endTime = 4 * time.Second
	// pipeTime is how long the end of a command waits for its stderr. A
	// process that it left behind may hold that open.
	pipeTime = 500 * time.Millisecond
)

// Command returns a function for [ClientOptions].Dial that runs a command, and
// talks to the far side through the command's stdin and stdout. The far side
// calls [ServeStdio]:
//
//	prochttp.Command("ssh", "-T", "-o", "BatchMode=yes", "build", "toolprocd", "stdio")
//	prochttp.Command("docker", "exec", "-i", "box", "toolprocd", "stdio")
//	prochttp.Command("kubectl", "exec", "-i", "pod", "--", "toolprocd", "stdio")
//
// The command is a program and its arguments; no shell reads them. It runs in a
// session of its own, so that it cannot ask for a password at the terminal, and
// Ctrl-C there does not reach it. The context of the dial bounds only the start
// of the command. If the command ends, the error of the connection has its exit
// status and the first and last of its stderr, at most 4 KiB.
//
// A program that asks package signal for SIGPIPE gets it also when a command has
// ended and something is written to it.
//
// Close of the connection closes the command's stdin. If the command still lives
// after 4 s, its process group gets a SIGKILL; on Windows the command alone is ended.
// Close waits for the end of the command in any case, and not for what it has left
// behind.
func Command(argv ...string) func(ctx context.Context) (net.Conn, error) {
	argv = append([]string(nil), argv...)
	return func(ctx context.Context) (net.Conn, error) {
		if len(argv) == 0 {
			return nil, xerrors.Errorf("prochttp: the command is empty: %w", procmgr.ErrInvalid)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := startCommand(argv)
		if err != nil {
			return nil, xerrors.Errorf("prochttp: run %q: %w", strings.Join(argv, " "), err)
		}
		return c, nil
	}
}

// A commandConn is a connection to the stdin and stdout of a command.
type commandConn struct {
	name   string // the command, for errors
	cmd    *exec.Cmd
	in     *os.File // its stdin
	out    *os.File // its stdout
	stderr *headtail.Buffer

	exited chan struct{} // closed when the command has exited; its ProcessState is set then
	shut   func()        // begins to close the connection
	done   chan struct{} // closed when it is closed
}

func startCommand(argv []string) (*commandConn, error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	defer theirOut.Close()
	c := &commandConn{
		name:   strings.Join(argv, " "),
		cmd:    exec.Command(argv[0], argv[1:]...),
		in:     in,
		out:    out,
		stderr: headtail.New(maxStderr/2, maxStderr/2),
		exited: make(chan struct{}),
		done:   make(chan struct{}),
	}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = theirIn, theirOut, c.stderr
	c.cmd.WaitDelay = pipeTime
	ownSession(c.cmd)
	if err := c.cmd.Start(); err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	c.shut = sync.OnceFunc(func() { go c.end() }) // Close waits for it
	go func() {                                   // end waits for it
		_ = c.cmd.Wait() // ProcessState has its exit status
		close(c.exited)
	}()
	return c, nil
}

// Read implements [net.Conn]. At the end of the command's stdout, it says how
// the command has ended.
func (c *commandConn) Read(p []byte) (int, error) {
	n, err := c.out.Read(p)
	if n == 0 && errors.Is(err, io.EOF) {
		c.shut()
		<-c.done
		err = c.ended()
	}
	return n, err
}

// Write implements [net.Conn]. If the command takes no more bytes, the error says how
// the command has ended: the reader closes the connection then.
func (c *commandConn) Write(p []byte) (int, error) {
	n, err := c.in.Write(p)
	if err != nil {
		select {
		case <-c.done:
			err = c.ended()
		case <-time.After(endTime):
		}
	}
	return n, err
}

// Close implements [net.Conn]. It returns when the command has ended.
func (c *commandConn) Close() error {
	c.shut()
	<-c.done
	return nil
}

// end ends the command and waits for it.
func (c *commandConn) end() {
	defer close(c.done)
	_ = c.in.Close() // a second Close, or one of a broken pipe, tells nothing
	drained := make(chan struct{})
	go func() { // waited for below; the command must not be held up by its stdout
		defer close(drained)
		_ = c.out.SetReadDeadline(time.Time{})
		_, _ = io.Copy(io.Discard, c.out)
	}()
	select {
	case <-c.exited:
	case <-time.After(endTime):
		select {
		case <-c.exited: // just now; its number may be another's
		default:
			killGroup(c.cmd)
		}
		<-c.exited
	}
	_ = c.out.SetReadDeadline(time.Now()) // a process that still holds the pipe is no part of the command
	select {
	case <-drained:
	case <-time.After(pipeTime): // Windows has no deadline for a pipe
	}
	_ = c.out.Close()
}

// ended says how the command has ended.
func (c *commandConn) ended() error {
	text := "the command " + strconv.Quote(c.name) + " has ended (" + c.cmd.ProcessState.String() + ")"
	if said := c.said(); said != "" {
		text += ": " + said
	}
	return xerrors.New(text)
}

// said returns what the command has written to stderr so far.
func (c *commandConn) said() string {
	text, _ := c.stderr.Snapshot(0).Text(headtail.Limits{Bytes: maxStderr, Line: -1})
	return string(bytes.TrimSpace([]byte(text)))
}

func (c *commandConn) LocalAddr() net.Addr                { return commandAddr(c.name) }
func (c *commandConn) RemoteAddr() net.Addr               { return commandAddr(c.name) }
func (c *commandConn) SetReadDeadline(t time.Time) error  { return c.out.SetReadDeadline(t) }
func (c *commandConn) SetWriteDeadline(t time.Time) error { return c.in.SetWriteDeadline(t) }

func (c *commandConn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// A commandAddr is the address of a command: its words.
type commandAddr string

func (a commandAddr) Network() string { return "command" }
func (a commandAddr) String() string  { return string(a) }
