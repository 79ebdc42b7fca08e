// Command quickstart shows how a model uses the tools of toolproc. It runs a
// real agent of charm.land/fantasy with the four tools, and the processes run
// on this machine. Only the language model is a script, so that you need no key
// and no server. The program prints each message, call and result, and fails if
// a result is not the expected one.
//
//	go run ./examples/quickstart
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"charm.land/fantasy"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool"
	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

const prompt = "Put a small web page together, serve it, and see that all of it works. " +
	"Leave nothing running."

func main() {
	if isHello() {
		os.Exit(hello(os.Args[1:]))
	}
	os.Exit(quickstart())
}

// quickstart returns the exit code.
func quickstart() int {
	// Commands do not get the Ctrl-C of the terminal. By default, Ctrl-C would end
	// this program without its deferred Close. So would the end of the terminal
	// (SIGHUP), and of the reader in "quickstart | head" (SIGPIPE).
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, brokenPipe)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "\nquickstart:", err)
		return 1
	}
	return 0
}

// run plays the whole conversation. When it returns, nothing runs and no file
// is left, even if it fails.
func run(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "quickstart-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	manager, err := proclocal.New(&proclocal.Options{WorkDir: func() string { return dir }})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, manager.Close()) }() // before dir is removed

	if err := installHello(dir); err != nil {
		return err
	}
	tools := chattool.All(toolset.Static(manager.Chat("quickstart")), nil)
	agent := fantasy.NewAgent(&model{scenes: script}, fantasy.WithTools(tools...), fantasy.WithRepairToolCall(chattool.NoRepair))

	t := newTranscript(out)
	t.user(prompt)
	_, err = agent.Stream(ctx, fantasy.AgentStreamCall{
		Prompt:       prompt,
		OnTextDelta:  func(_, text string) error { return t.text(text) },
		OnTextEnd:    func(string) error { return t.endText() },
		OnToolCall:   func(call fantasy.ToolCallContent) error { return t.call(call) },
		OnToolResult: func(res fantasy.ToolResultContent) error { return t.result(res) },
	})
	switch {
	case ctx.Err() != nil:
		return xerrors.Errorf("stopped before the end: %w", ctx.Err())
	case err != nil:
		return err
	}
	return t.end(ctx, manager)
}

// installHello puts the program that the model works with into a directory. It
// is this program under another name, because no other program is sure to exist
// on every machine.
func installHello(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return os.Symlink(self, filepath.Join(dir, helloName))
}
