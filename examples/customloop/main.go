// Command customloop is an agent without a framework: it needs only net/http
// and the tools of package toolset. It works with any endpoint compatible with
// OpenAI's chat completions, hosted or on your own machine.
//
//	go run ./examples/customloop
//	go run ./examples/customloop -base-url http://127.0.0.1:8080/v1 -model qwen3 'Do the tests pass?'
//
// Without -base-url it starts an endpoint of its own, where a script plays the
// model. That endpoint is overloaded once, so that the loop has to ask again.
// The key for a real endpoint comes from OPENAI_API_KEY. Commands do not get
// the key: by default, a manager withholds variables that look like secrets
// from them.
//
// Ctrl-C ends the program and everything that it has started. README's program shows
// how to stop a turn alone.
//
// The loop is in loop.go. To copy it, take the one in docs/frameworks.md and add
// carryOut, ask and post from there. What prints is in examples/internal, which another
// module cannot import.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/examples/internal/dialogue"
	"github.com/toolproc/toolproc/examples/internal/interrupt"
	"github.com/toolproc/toolproc/examples/internal/story"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// system is the first message to a real model.
const system = "You work for a developer, in a directory of theirs, by running commands. " +
	"Do what you are asked for, see that it works, and report in a few sentences."

func main() {
	err := customloop(os.Args[1:], os.Stdin, os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "\ncustomloop:", err)
		os.Exit(1)
	}
}

func customloop(args []string, in io.Reader, out io.Writer) error {
	flags := flag.NewFlagSet("customloop", flag.ContinueOnError)
	url := flags.String("base-url", "", "`URL` of the endpoint, up to /chat/completions; none: a script plays the model")
	model := flags.String("model", "", "`name` of the model")
	maxTurns := flags.Int("max-turns", 50, "`number` of the model's answers after which to give up")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, end := interrupt.Context(os.Interrupt) // Ctrl-C ends ctx and not the program, so that what runs is ended
	defer end()
	show := &dialogue.Transcript{Out: out, Column: 8, Gone: end, Stable: true}
	if *url == "" {
		if flags.NArg() > 0 {
			return errors.New("the script knows one task only; a prompt needs -base-url and -model")
		}
		return play(ctx, show)
	}
	prompt := strings.Join(flags.Args(), " ")
	if prompt == "" {
		piped, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		prompt = strings.TrimSpace(string(piped))
	}
	if prompt == "" {
		return errors.New("there is no prompt, neither as an argument nor on stdin")
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	return work(ctx, dir, show, func(l *loop) error {
		l.url, l.key, l.model = strings.TrimSuffix(*url, "/"), os.Getenv("OPENAI_API_KEY"), *model
		l.maxTurns = *maxTurns
		l.messages = append(l.messages, message{Role: "system", Content: system})
		show.Say("user", prompt)
		return l.run(ctx, prompt)
	})
}

// play lets the script work on its task. No file is left, even if it fails.
func play(ctx context.Context, show *dialogue.Transcript) (err error) {
	dir, err := os.MkdirTemp("", "customloop-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := story.WriteProject(dir); err != nil {
		return err
	}
	server := httptest.NewServer(&endpoint{script: story.Greeter, busyAt: 4})
	defer server.Close()
	return work(ctx, dir, show, func(l *loop) error {
		l.url, l.model = server.URL+"/v1", "script"
		show.Say("user", story.Task)
		return l.run(ctx, story.Task)
	})
}

// work runs a loop whose commands run in a directory. When it returns, nothing
// runs.
func work(ctx context.Context, dir string, show *dialogue.Transcript, run func(*loop) error) (err error) {
	manager, err := proclocal.New(&proclocal.Options{WorkDir: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, manager.Close()) }()
	l, err := newLoop(manager.Chat("customloop"), show)
	if err != nil {
		return err
	}
	err = run(l)
	if ctx.Err() != nil {
		return xerrors.Errorf("stopped before the end: %w", ctx.Err())
	}
	return err
}
