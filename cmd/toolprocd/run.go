package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
)

const (
	// codeNotRun is the exit code of run if it fails itself, as of env(1).
	codeNotRun = 125
	// codeNoReader is the code that a shell gives a program killed by SIGPIPE.
	codeNoReader = 141
)

// run runs a command in the keeper, prints its output as it comes, and exits with
// its code.
//
// Ctrl-C interrupts the command, and run goes on until the command has ended; the
// second Ctrl-C terminates it, and the third one kills it. If run itself is
// killed, or its terminal is closed, the command goes on.
func run(flags *flag.FlagSet, args []string) error {
	at, rules := placeFlags(flags), ruleFlags(flags)
	detach := flags.Bool("d", false, "print the ID of the process and leave it running")
	if err := flags.Parse(args); err != nil {
		return err // flags after the first word belong to the command
	}
	if flags.NArg() == 0 {
		return errors.New("the command is missing, as in: toolprocd run make test")
	}
	asked := make(chan os.Signal, 8)
	signal.Notify(asked, os.Interrupt, syscall.SIGTERM)
	outlivePipe()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := &runner{id: procmgr.NewID(), started: make(chan struct{})}
	go r.passOn(ctx, cancel, asked) // it ends with ctx

	var err error
	if r.k, err = at.open(ctx, nil, *rules, false); err != nil {
		return err
	}
	defer leave(r.k)
	begun, err := r.start(ctx, commandLine(flags.Args()))
	switch {
	case err != nil:
	case *detach:
		fmt.Println(r.id)
	default:
		err = r.attend(ctx)
	}
	if ctx.Err() != nil && begun { // it was called off before it was known to run
		_ = r.k.Signal(context.WithoutCancel(ctx), r.id, procmgr.Terminate) // it may have ended
	}
	return err
}

// commandLine makes a shell's command line of words. One word is a command line;
// several are a program and its arguments, and no shell changes them.
func commandLine(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = word(w)
	}
	return strings.Join(quoted, " ")
}

// A runner is one command that run has started.
type runner struct {
	k       *prockeep.Host
	id      string
	started chan struct{} // closed when the command runs
}

// start starts the command, and reports whether it may have begun.
func (r *runner) start(ctx context.Context, line string) (begun bool, err error) {
	out, err := r.k.Start(ctx, procmgr.StartRequest{ID: r.id, Command: line})
	if err == nil {
		close(r.started)
	}
	return out.Process.ID != "", err
}

// passOn passes signals on to the command. A signal that comes before it runs
// calls it off.
func (r *runner) passOn(ctx context.Context, cancel func(), asked <-chan os.Signal) {
	next := []procmgr.Signal{procmgr.Interrupt, procmgr.Terminate, procmgr.Kill}
	for {
		var sig os.Signal
		select {
		case sig = <-asked:
		case <-ctx.Done():
			return
		}
		select {
		case <-r.started:
		default:
			cancel()
			return
		}
		send := next[0]
		if len(next) > 1 {
			next = next[1:]
		}
		if sig == syscall.SIGTERM && send != procmgr.Kill {
			send = procmgr.Terminate
		}
		if err := r.k.Signal(ctx, r.id, send); err != nil && !errors.Is(err, procmgr.ErrNotRunning) && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "toolprocd run:", err)
		}
	}
}

// attend prints the output of the command until it has ended, and returns its
// exit code.
func (r *runner) attend(ctx context.Context) error {
	to := &printer{out: os.Stdout, terminal: isTerminal(os.Stdout)}
	for c, err := range follow(ctx, r.k, r.id) {
		if err != nil {
			return err
		}
		if err := to.print(c); err != nil {
			_ = r.k.Signal(ctx, r.id, procmgr.Terminate) // as SIGPIPE would have done
			if noReader(err) {
				return exit(codeNoReader)
			}
			return err
		}
		if c.Process.State != procmgr.Detached {
			continue
		}
		if now, err := r.look(ctx); err != nil || c.Next >= now.Next {
			break // what has stayed behind in the background is not waited for
		}
	}
	to.end()
	now, err := r.look(ctx)
	if err != nil {
		return err
	}
	p := now.Process
	if p.State == procmgr.Detached {
		fmt.Fprintf(os.Stderr, "toolprocd: something that the command has started goes on; toolprocd logs -f %s shows its output, toolprocd kill %[1]s ends it\n", r.id)
	}
	if p.ExitCode == nil {
		return xerrors.Errorf("it is not known how %s has ended", r.id)
	}
	if *p.ExitCode == 0 {
		return nil
	}
	if len(now.Withheld) > 0 {
		fmt.Fprintf(os.Stderr, "toolprocd: the command did not get %s, because they may be secrets\n", strings.Join(now.Withheld, ", "))
	}
	return exit(*p.ExitCode)
}

// look asks how the process is.
func (r *runner) look(ctx context.Context) (procmgr.Output, error) {
	return r.k.Output(ctx, r.id, procmgr.OutputRequest{Limit: headtail.Limits{Bytes: 1}})
}
