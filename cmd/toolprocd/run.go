package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"time"

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
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("the command is missing, as in: toolprocd run make test")
	}
	// A write to a stdout without a reader is an error then, and does not end this program.
	// The keeper would inherit an ignored signal, so it is caught.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	asked := make(chan os.Signal, 8)
	signal.Notify(asked, os.Interrupt, syscall.SIGTERM)
	// Until the command is known to run, a signal calls it off.
	starting, started := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer started()
	k, err := at.open(starting, nil, rules, false)
	if err != nil {
		return err
	}
	defer leave(k)
	id := procmgr.NewID()
	out, err := k.Start(starting, procmgr.StartRequest{ID: id, Command: commandLine(flags.Args())})
	if starting.Err() != nil && out.Process.ID != "" { // it may have begun
		_ = k.Signal(ctx, id, procmgr.Terminate) // it may have ended
		return starting.Err()
	}
	if err != nil {
		return err
	}
	started()
	if *detach {
		fmt.Println(id)
		return nil
	}
	go passOn(ctx, k, id, asked) // it ends with ctx
	return attend(ctx, k, id)
}

// plain matches a word that a shell takes as it is.
var plain = regexp.MustCompile(`^[a-zA-Z0-9@%+=:,./_-]+$`)

// commandLine makes a shell's command line of words. One word is a command line;
// several are a program and its arguments, and no shell changes them.
func commandLine(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		if quoted[i] = w; !plain.MatchString(w) {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// passOn passes signals on to the command, until ctx ends.
func passOn(ctx context.Context, k *prockeep.Host, id string, asked <-chan os.Signal) {
	next := []procmgr.Signal{procmgr.Interrupt, procmgr.Terminate, procmgr.Kill}
	for {
		var sig os.Signal
		select {
		case sig = <-asked:
		case <-ctx.Done():
			return
		}
		send := next[0]
		if len(next) > 1 {
			next = next[1:]
		}
		if sig == syscall.SIGTERM && send != procmgr.Kill {
			send = procmgr.Terminate
		}
		if err := k.Signal(ctx, id, send); err != nil && !errors.Is(err, procmgr.ErrNotRunning) && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "toolprocd run:", err)
		}
	}
}

// attend prints the output of the command until it has ended, and returns its
// exit code.
func attend(ctx context.Context, k *prockeep.Host, id string) error {
	var now procmgr.Output
	for c, err := range follow(ctx, k, id) {
		if err != nil {
			return err
		}
		if err := printChunk(c); err != nil {
			_ = k.Signal(ctx, id, procmgr.Terminate) // as SIGPIPE would have done
			if errors.Is(err, syscall.EPIPE) {
				return exit(codeNoReader)
			}
			return err
		}
		if c.Process.State == procmgr.Running {
			continue
		}
		now, err = k.Output(ctx, id, procmgr.OutputRequest{Limit: headtail.Limits{Bytes: 1}})
		if err != nil {
			return err
		}
		if c.Next >= now.Next {
			break // what has stayed behind in the background is not waited for
		}
	}
	p := now.Process
	if p.State == procmgr.Detached {
		fmt.Fprintf(os.Stderr, "toolprocd: something that the command has started goes on; toolprocd logs -f %s shows its output, toolprocd kill %[1]s ends it\n", id)
	}
	if p.ExitCode == nil {
		return xerrors.Errorf("it is not known how %s has ended", id)
	}
	if *p.ExitCode == 0 {
		return nil
	}
	if len(now.Withheld) > 0 {
		fmt.Fprintf(os.Stderr, "toolprocd: the command did not get %s, because they may be secrets\n", strings.Join(now.Withheld, ", "))
	}
	return exit(*p.ExitCode)
}

// logs prints the output of a process, as much of it as is there, or to its end.
func logs(flags *flag.FlagSet, args []string) error {
	at, chat := placeFlags(flags), chatFlag(flags)
	toEnd := flags.Bool("f", false, "go on until the process has exited; Ctrl-C ends only this")
	words, err := parse(flags, args, 1, 1)
	if err != nil {
		return err
	}
	return at.use(func(ctx context.Context, k *prockeep.Host) error {
		m, now, err := find(ctx, k, *chat, words[0])
		if err != nil || !*toEnd && now.Next == 0 && now.Live == "" {
			return err
		}
		for c, err := range follow(ctx, m, words[0]) {
			last := !*toEnd && c.Next >= now.Next
			if last {
				c.Text += c.Live
			}
			if err == nil {
				err = printChunk(c)
			}
			if err != nil || last {
				return err
			}
		}
		return nil
	})
}

// follow follows a process in large chunks, and saves calls if the process prints little
// by little.
func follow(ctx context.Context, m procmgr.Manager, id string) iter.Seq2[procmgr.Chunk, error] {
	return procmgr.Follow(ctx, m, id, &procmgr.FollowOptions{Limit: 256 << 10, Every: 10 * time.Millisecond})
}

func printChunk(c procmgr.Chunk) error {
	if c.Gap > 0 {
		why := ""
		if c.Process.LogError != "" {
			why = "; the log: " + c.Process.LogError
		}
		fmt.Fprintf(os.Stderr, "toolprocd: %d bytes of the output are lost here%s\n", c.Gap, why)
	}
	_, err := io.WriteString(os.Stdout, c.Text)
	return err
}
