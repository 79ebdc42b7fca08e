package chattool_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"charm.land/fantasy"

	"github.com/toolproc/toolproc/chattool"
	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// managers would return the manager of the chat that ctx is of.
func managers(ctx context.Context) (procmgr.Manager, error) {
	return nil, errors.New("the call belongs to no chat")
}

func ExampleAll() {
	tools, err := chattool.All(managers, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, tool := range tools { // they are for NewAgent
		fmt.Println(tool.Info().Name)
	}
	// Output:
	// execute
	// process_output
	// process_list
	// process_signal
}

// The host needs the Set itself, to forget what a chat was shown when it has compacted the
// conversation.
func ExampleTools() {
	set, err := toolset.New(managers, nil)
	if err != nil {
		log.Fatal(err)
	}
	tools := chattool.Tools(set)
	set.Forget("chat-1")
	fmt.Println(len(tools))
	// Output: 4
}

// This agent tells its model what has ended in the background, before each step. The program
// examples/agent shows the whole of such a host.
func ExampleNewAgent() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	manager, err := proclocal.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Close() // ends what still runs

	set, err := toolset.New(toolset.Static(manager.Chat("chat-1")), &toolset.Options{NoticesInInbox: true})
	if err != nil {
		log.Print(err)
		return
	}
	inbox := set.Inbox(ctx, "")
	tools := chattool.Tools(set)
	history := []fantasy.Message{fantasy.NewUserMessage("Test it.")} // the host's own, with the answers and results
	var model fantasy.LanguageModel                                  // of one of fantasy's providers
	_ = chattool.NewAgent(model, tools, fantasy.WithPrepareStep(func(ctx context.Context, _ fantasy.PrepareStepFunctionOptions) (context.Context, fantasy.PrepareStepResult, error) {
		if notices, err := inbox.Pending(ctx); err == nil && notices.Text != "" {
			history = append(history, fantasy.NewUserMessage(notices.Text))
			inbox.Ack(notices)
		}
		return ctx, fantasy.PrepareStepResult{Messages: history}, nil
	}))
	fmt.Println(len(tools))
	// Output: 4
}
