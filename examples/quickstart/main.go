// Command quickstart shows what a model does with the tools of toolproc. It is
// a real agent of charm.land/fantasy with the four tools, on processes of this
// machine; only the language model is played by a script, so that no key and no
// server is needed. It prints what is said, called and answered, and fails
// where anything comes out otherwise than expected.
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
	"github.com/toolproc/toolproc/procmgr"
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
	// Commands do not get the terminal's Ctrl-C, and by default it would end this
	// program without its deferred Close. So do the end of the terminal (SIGHUP),
	// and of the reader in "quickstart | head" (SIGPIPE).
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "\nquickstart:", err)
		return 1
	}
	return 0
}

// run plays the whole conversation. Whatever comes of it, nothing runs and no
// file is left when it returns.
func run(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "quickstart-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	manager, err := procmgr.NewLocal(&procmgr.Options{WorkDir: func() string { return dir }})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, manager.Close()) }() // before dir goes

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

// installHello puts the program that the model works with into a directory: it
// is this one under another name, which is all that any machine is sure to have.
func installHello(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return os.Symlink(self, filepath.Join(dir, helloName))
}
