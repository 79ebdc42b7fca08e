package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/examples/internal/dialogue"
	"github.com/toolproc/toolproc/examples/internal/interrupt"
	"github.com/toolproc/toolproc/examples/internal/story"
	"github.com/toolproc/toolproc/internal/service"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// migration must not run twice: every run adds to the ledger. It waits for an
// approval, so that the agent can be killed in the middle of it.
const migration = `echo 'users: migrated, waiting for approval'
echo users >> ledger
until [ -e approved ]; do sleep 0.05; done
echo orders >> ledger
echo 'orders: migrated, 2 rows are left over'
exit 3`

// show plays a daemon, and agents in processes of their own. When it returns,
// nothing runs and no file is left, even if it fails.
func show(out io.Writer) (err error) {
	ctx, stop := interrupt.Context(os.Interrupt)
	defer stop()
	dir, err := os.MkdirTemp("", "remote-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := newStageIn(dir, out, stop)
	if err := os.Mkdir(s.work, 0o700); err != nil {
		return err
	}
	if err := writeKeys(dir, []string{"127.0.0.1"}); err != nil {
		return err
	}
	daemon, err := s.serve(ctx)
	if err != nil {
		return err
	}
	err = s.play(ctx)
	if err := daemon(); err != nil {
		return xerrors.Errorf("the daemon did not stop as it should: %w", err)
	}
	if ctx.Err() != nil {
		return xerrors.Errorf("stopped before the end: %w", ctx.Err())
	}
	if err != nil {
		return err
	}
	s.Space()
	s.Print("daemon", "stopped, after it had ended what still ran")
	ledger, err := os.ReadFile(filepath.Join(s.work, "ledger"))
	switch {
	case err != nil:
		return err
	case string(ledger) != "users\norders\n":
		return xerrors.Errorf("the ledger has %q: the migration did not run once", ledger)
	}
	s.Space()
	s.Print("", "The migration has run once: the ledger has each of its lines once.")
	return nil
}

// A stage has what the parts of the show share.
type stage struct {
	dialogue.Transcript
	keys, work string // directories: of the keys, and of the commands
	url        string // of the daemon
	known      story.Memory
}

func newStageIn(dir string, out io.Writer, gone func()) *stage {
	return &stage{
		Transcript: dialogue.Transcript{Out: out, Column: 9, Gone: gone, Stable: true},
		keys:       dir, work: filepath.Join(dir, "work"), known: make(story.Memory),
	}
}

// serve is the daemon, until stop is called.
func (s *stage) serve(ctx context.Context) (stop func() error, err error) {
	token, err := service.ReadToken(filepath.Join(s.keys, tokenName))
	if err != nil {
		return nil, err
	}
	listener, hosts, err := service.ListenTLS("127.0.0.1:0", filepath.Join(s.keys, certName), filepath.Join(s.keys, keyName))
	if err != nil {
		return nil, err
	}
	s.url = "https://" + listener.Addr().String()
	ctx, cancel := context.WithCancel(ctx)
	log := slog.New(slog.DiscardHandler)
	ended := make(chan error, 1)
	go func() { // stop waits for it
		ended <- service.Run(ctx, s.work, prochttp.HandlerOptions{Token: token, Hosts: hosts, Logger: log}, service.On(listener, log))
	}()
	s.Print("daemon", "listening on "+s.url)
	return func() error {
		cancel()
		return <-ended
	}, nil
}

// play lets the agents work, one after the other.
func (s *stage) play(ctx context.Context) error {
	// The first one is killed in the middle of the migration.
	first, err := s.agent(ctx, "agent 1", "deploy-7")
	if err != nil {
		return err
	}
	defer func() { _ = first.Process.Kill() }() // it has been killed before, unless something failed
	call := story.Execute(migration, "")
	call.Arguments = strings.Replace(call.Arguments, "}", `,"timeout":"10m"}`, 1)
	if err := first.send(call); err != nil {
		return err
	}
	if err := await(ctx, filepath.Join(s.work, "ledger")); err != nil {
		return xerrors.Errorf("wait for the migration to begin: %w", err)
	}
	if err := first.Process.Kill(); err != nil {
		return err
	}
	_ = first.Wait() // it was killed
	s.Print("", "(killed by SIGKILL; nobody has read an answer)")

	// The second one finds the migration and goes on with it.
	err = s.calls(ctx, "agent 2", "deploy-7",
		story.Call{Tool: "process_list", Arguments: `{}`, Want: `^{"processes":\[{"process_id":"(?P<id>[^"]+)","state":"running","command":"[^"]*","age":"[^"]*"}\]}`},
		story.Call{Tool: "process_output", Arguments: `{"process_id":"{id}","wait_for":"approval"}`, Want: `"next_offset":(?P<next>\d+)`},
		story.Execute("touch approved", `"exit_code":0`),
		story.Call{Tool: "process_output", Arguments: `{"process_id":"{id}","since":{next},"wait_timeout":"1m"}`, Want: `"exit_code":3`},
		story.Execute("sort ledger | uniq -c", `1 orders\\n +1 users`),
		story.Call{Tool: "execute", Arguments: `{"command":"exec sleep 1000","run_in_background":true}`, Want: `"state":"running"`},
	)
	if err != nil {
		return err
	}
	// The third one belongs to another chat. It knows the ID of the process, but
	// cannot use it.
	return s.calls(ctx, "agent 3", "other",
		story.Call{Tool: "process_output", Arguments: `{"process_id":"{id}"}`, Want: `"success":false.*there is no process`})
}

// await waits until a file exists.
func await(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// A player is this program in the role of an agent.
type player struct {
	*exec.Cmd
	name  string
	stage *stage
	in    io.WriteCloser
	out   *bufio.Reader
}

// agent starts an agent for a chat. If ctx ends, the agent is stopped.
func (s *stage) agent(ctx context.Context, name, chat string) (*player, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &player{Cmd: exec.CommandContext(ctx, self, "agent", "-url", s.url, "-keys", s.keys, "-chat", chat), name: name, stage: s}
	p.Cancel = func() error { return p.Process.Signal(syscall.SIGTERM) }
	p.Stderr = os.Stderr
	if p.in, err = p.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	s.Space()
	return p, p.Start()
}

// calls lets an agent make calls, one after the other, and ends it.
func (s *stage) calls(ctx context.Context, name, chat string, all ...story.Call) error {
	p, err := s.agent(ctx, name, chat)
	if err != nil {
		return err
	}
	for _, call := range all {
		if err = p.call(call); err != nil {
			break
		}
	}
	_ = p.in.Close() // the agent may have ended by itself
	return errors.Join(err, p.Wait())
}

// send lets the agent make a call.
func (p *player) send(call story.Call) error {
	arguments := json.RawMessage(p.stage.known.Fill(call.Arguments))
	p.stage.Call(p.name, call.Tool, arguments)
	line, err := json.Marshal(map[string]any{"name": call.Tool, "arguments": arguments})
	if err != nil {
		return err
	}
	_, err = p.in.Write(append(line, '\n'))
	return err
}

// call lets the agent make a call, and checks the answer.
func (p *player) call(call story.Call) error {
	if err := p.send(call); err != nil {
		return err
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		return xerrors.Errorf("%s gave no answer: %w", p.name, err)
	}
	p.stage.Result("", strings.TrimSuffix(line, "\n"))
	return p.stage.known.Read(call, line)
}
