// Command acp is an agent for editors that speak the Agent Client Protocol, such
// as Zed. The editor starts it and talks to it over stdio. A model works with the
// tools of toolproc: the editor shows the output of a command while it runs, and
// asks its user before a command that does more than read.
//
// OPENAI_BASE_URL, OPENAI_API_KEY and MODEL name the model, at any endpoint with
// chat completions. README.md says how to add the agent to an editor.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/xerrors"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "acp:", err)
		os.Exit(1)
	}
}

// run serves until the editor is gone or a signal comes. Stdout belongs to the
// protocol, so messages for people go to stderr.
func run(args []string) error {
	if len(args) > 0 {
		return xerrors.Errorf("unexpected argument %q: an editor starts this program, and talks to it over stdio", args[0])
	}
	// Any of these signals would end the program before it has ended the processes.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // it may come of any connection
	model := endpoint{
		url:  strings.TrimSuffix(cmp.Or(os.Getenv("OPENAI_BASE_URL"), "https://api.openai.com/v1"), "/"),
		key:  os.Getenv("OPENAI_API_KEY"), // commands do not get it: it looks like a secret
		name: cmp.Or(os.Getenv("MODEL"), "gpt-5.2"),
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return serve(ctx, newAgent(model, log), os.Stdin, os.Stdout)
}

// serve serves the editor at the other end of in and out. No process that an agent
// has started outlives it.
func serve(ctx context.Context, a *agent, in io.Reader, out io.Writer) (err error) {
	defer func() { err = errors.Join(err, a.close()) }()
	select {
	case <-a.connect(in, out).Done():
	case <-ctx.Done():
	}
	return nil
}
