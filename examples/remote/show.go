package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/xerrors"
)

// migration must not run twice: every run adds to the ledger. It waits for an
// approval, so that the agent can be killed in the middle of it.
const migration = `echo 'users: migrated, waiting for approval'
echo users >> ledger
until [ -e approved ]; do sleep 0.05; done
echo orders >> ledger
echo 'orders: migrated, 2 rows are left over'
exit 3`

// show plays a daemon and its agents, each in a process of its own as in real
// use. When it returns, nothing runs and no file is left, even if it fails.
func show(args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("show", flag.ContinueOnError)
	overUnix := flags.Bool("unix", false, "use a unix socket instead of TCP with TLS")
	if err := parse(flags, args); err != nil {
		return err
	}
	// SIGPIPE too, so that "remote | head" also cleans up.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, brokenPipe)
	defer stop()

	dir, err := os.MkdirTemp("", "remote-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := &stage{transcript: transcript{out: out}, work: filepath.Join(dir, "work")}
	if err := os.Mkdir(s.work, 0o700); err != nil {
		return err
	}
	logName := filepath.Join(dir, "log")
	if s.log, err = os.Create(logName); err != nil {
		return err
	}
	defer s.log.Close()

	daemon := []string{"serve", "-dir", s.work}
	if *overUnix {
		daemon = append(daemon, "-unix", filepath.Join(dir, "s"))
	} else {
		if err := writeKeys(dir, []string{"127.0.0.1"}); err != nil {
			return err
		}
		token, cert, key := filepath.Join(dir, tokenName), filepath.Join(dir, certName), filepath.Join(dir, keyName)
		daemon = append(daemon, "-listen", "127.0.0.1:0", "-token-file", token, "-cert", cert, "-key", key)
		s.credentials = []string{"-token-file", token, "-ca", cert}
	}
	err = s.play(ctx, daemon)
	switch {
	case ctx.Err() != nil:
		return xerrors.Errorf("stopped before the end: %w", ctx.Err())
	case err != nil:
		said, _ := os.ReadFile(logName) // the log only helps; without it the error is still reported
		fmt.Fprintf(os.Stderr, "The log of the daemon and the agents:\n%s", said)
	}
	return err
}

// A stage holds the values that the parts of the show share.
type stage struct {
	transcript
	work        string   // the directory of the commands
	log         *os.File // the stderr of the actors
	url         string   // URL of the daemon
	credentials []string // flags of an agent
	process     string   // process ID of the migration
}

// play runs the daemon, and the agents one after the other.
func (s *stage) play(ctx context.Context, args []string) (err error) {
	daemon, err := s.start(ctx, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, daemon.terminate()) }()
	line, err := daemon.line()
	if err != nil {
		return xerrors.Errorf("the daemon did not start: %w", err)
	}
	s.url = strings.TrimPrefix(line, "listening on ")
	s.print("daemon", line)

	for _, part := range []func(context.Context) error{s.first, s.second, s.third} {
		if err := part(ctx); err != nil {
			return err
		}
	}

	if err := daemon.terminate(); err != nil {
		return xerrors.Errorf("the daemon did not stop as it should: %w", err)
	}
	s.space()
	s.print("daemon", "stopped, after it had ended what still ran")
	ledger, err := os.ReadFile(filepath.Join(s.work, "ledger"))
	switch {
	case err != nil:
		return err
	case string(ledger) != "users\norders\n":
		return xerrors.Errorf("the ledger has %q: the migration did not run once", ledger)
	}
	s.space()
	s.print("", "The migration has run once: the ledger has each of its lines once.")
	return s.err
}

// first begins the migration, and is killed in the middle of it.
func (s *stage) first(ctx context.Context) error {
	a, err := s.agent(ctx, "agent 1", "deploy-7")
	if err != nil {
		return err
	}
	defer func() { _ = a.kill() }() // it may have been killed before
	if err := a.send("execute", map[string]any{"command": migration, "timeout": "10m"}); err != nil {
		return err
	}
	if err := await(ctx, filepath.Join(s.work, "ledger")); err != nil {
		return xerrors.Errorf("wait for the migration to begin: %w", err)
	}
	if err := a.kill(); err != nil {
		return err
	}
	s.print("", "(killed by SIGKILL; nobody has read an answer)")
	return nil
}

// second finds the migration and goes on with it.
func (s *stage) second(ctx context.Context) (err error) {
	a, err := s.agent(ctx, "agent 2", "deploy-7")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.end()) }()

	res, err := a.call("process_list", map[string]any{})
	switch {
	case err != nil:
		return err
	case len(res.Processes) != 1 || res.Processes[0].State != "running":
		return xerrors.Errorf("agent 2 should have found the migration running: %+v", res.Processes)
	}
	id := res.Processes[0].ID
	s.process = id
	res, err = a.call("process_output", map[string]any{"process_id": id, "wait_for": "approval"})
	if err != nil {
		return err
	}
	if _, err = a.call("execute", map[string]any{"command": "touch approved"}); err != nil {
		return err
	}
	res, err = a.call("process_output", map[string]any{"process_id": id, "since": res.Next, "wait_timeout": "1m"})
	switch {
	case err != nil:
		return err
	case res.ExitCode == nil || *res.ExitCode != 3:
		return xerrors.Errorf("the migration should have ended with exit code 3: %+v", res)
	}
	if _, err = a.call("execute", map[string]any{"command": "sort ledger | uniq -c"}); err != nil {
		return err
	}
	_, err = a.call("execute", map[string]any{"command": "exec sleep 1000", "run_in_background": true})
	return err
}

// third belongs to another chat. It knows the ID of the process, but cannot use
// it.
func (s *stage) third(ctx context.Context) (err error) {
	a, err := s.agent(ctx, "agent 3", "other")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.end()) }()
	res, err := a.call("process_output", map[string]any{"process_id": s.process})
	if err == nil && res.Success {
		return xerrors.Errorf("agent 3 should have been refused: %+v", res)
	}
	return err
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

// An actor is this program in another role.
type actor struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	ended bool
}

// start starts this program in a role. When the show is stopped, it is stopped
// too.
func (s *stage) start(ctx context.Context, args ...string) (*actor, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second // longer than the daemon needs
	cmd.Stderr = s.log
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &actor{cmd: cmd, in: in, out: bufio.NewReader(out)}, nil
}

// line reads a line of the actor's output.
func (a *actor) line() (string, error) {
	line, err := a.out.ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return strings.TrimSuffix(line, "\n"), err
}

// end stops an actor that reads its input, and waits for it. If the actor has
// already ended, end does nothing. The same holds for terminate and kill.
func (a *actor) end() error {
	if a.ended {
		return nil
	}
	a.ended = true
	_ = a.in.Close() // the actor may have ended by itself
	return a.cmd.Wait()
}

// terminate stops an actor by a signal.
func (a *actor) terminate() error {
	if !a.ended {
		_ = a.cmd.Cancel() // the actor may have ended by itself
	}
	return a.end()
}

// kill ends an actor as a crash does: the actor cannot clean up.
func (a *actor) kill() error {
	if a.ended {
		return nil
	}
	if err := a.cmd.Process.Kill(); err != nil {
		return err
	}
	if err := a.end(); err == nil {
		return errors.New("it ended by itself before it was killed")
	}
	return nil
}

// A player is an actor in the role of an agent.
type player struct {
	*actor
	name  string
	stage *stage
}

// agent starts an agent for a chat.
func (s *stage) agent(ctx context.Context, name, chat string) (*player, error) {
	a, err := s.start(ctx, append([]string{"agent", "-url", s.url, "-chat", chat}, s.credentials...)...)
	s.space()
	return &player{actor: a, name: name, stage: s}, err
}

// send lets the agent make a call.
func (p *player) send(tool string, arguments map[string]any) error {
	raw, err := json.Marshal(arguments)
	if err != nil {
		return err
	}
	if err := p.stage.call(p.name, tool, raw); err != nil {
		return err
	}
	line, err := json.Marshal(map[string]any{"name": tool, "arguments": json.RawMessage(raw)})
	if err != nil {
		return err
	}
	_, err = p.in.Write(append(line, '\n'))
	return err
}

// call lets the agent make a call, and waits for the answer.
func (p *player) call(tool string, arguments map[string]any) (result, error) {
	var res result
	if err := p.send(tool, arguments); err != nil {
		return res, err
	}
	line, err := p.line()
	if err != nil {
		return res, xerrors.Errorf("%s gave no answer: %w", p.name, err)
	}
	if err := json.Unmarshal([]byte(line), &res); err != nil {
		return res, xerrors.Errorf("%s answered %q: %w", p.name, line, err)
	}
	p.stage.answer(res)
	return res, nil
}
