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
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"charm.land/fantasy"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool"
	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/examples/internal/dialogue"
	"github.com/toolproc/toolproc/examples/internal/interrupt"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

func main() { os.Exit(quickstart()) }

// quickstart returns the exit code.
func quickstart() int {
	ctx, stop := interrupt.Context(os.Interrupt) // Ctrl-C ends ctx and not the program, so that what runs is ended
	defer stop()
	if err := run(ctx, os.Stdout, Greeter); err != nil {
		fmt.Fprintln(os.Stderr, "\nquickstart:", err)
		return 1
	}
	return 0
}

// run plays the whole conversation. When it returns, nothing runs and no file
// is left, even if it fails.
func run(ctx context.Context, out io.Writer, script Script) (err error) {
	dir, err := os.MkdirTemp("", "quickstart-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := WriteProject(dir); err != nil {
		return err
	}
	manager, err := proclocal.New(&proclocal.Options{WorkDir: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, manager.Close()) }() // before dir is removed

	tools, err := chattool.All(toolset.Static(manager.Chat("quickstart")), &toolset.Options{Format: toolset.FormatText})
	if err != nil {
		return err
	}
	agent := chattool.NewAgent(&model{script: script}, tools)

	ctx, gone := context.WithCancel(ctx) // ends if the transcript has no reader
	defer gone()
	show := &dialogue.Transcript{Out: out, Column: 8, Gone: gone}
	show.Say("user", Task)
	runs := 0
	_, err = agent.Stream(ctx, fantasy.AgentStreamCall{
		Prompt: Task,
		OnTextDelta: func(_, text string) error {
			show.Space()
			show.Say("model", text)
			return nil
		},
		OnToolCall: func(call fantasy.ToolCallContent) error {
			if call.ToolName == "execute" {
				runs++
			}
			show.Call("call", call.ToolName, json.RawMessage(call.Input))
			return nil
		},
		OnToolResult: func(res fantasy.ToolResultContent) error {
			show.Result("result", textOf(res.Result))
			return nil
		},
	})
	switch {
	case ctx.Err() != nil:
		return xerrors.Errorf("stopped before the end: %w", ctx.Err())
	case err != nil:
		return err
	}
	page, err := manager.List(ctx, procmgr.ListRequest{})
	if err != nil {
		return err
	}
	for _, p := range page.Processes {
		if p.State != procmgr.Exited {
			return xerrors.Errorf("process %s is left in state %s: %q", p.ID, p.State, p.Command)
		}
	}
	if page.Total != runs {
		return xerrors.Errorf("%d commands were asked for, and there are %d processes", runs, page.Total)
	}
	_, err = fmt.Fprintf(out, "\n%d commands were run, each once; none of them is running.\n", runs)
	return err
}
