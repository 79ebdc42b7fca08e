package toolset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

func ExampleNew() {
	// Ctrl-C ends ctx and not the program, so that Close is called.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	manager, err := proclocal.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Close() // ends what still runs
	set, err := toolset.New(toolset.Static(manager.Chat("chat-1")), nil)
	if err != nil {
		log.Print(err)
		return
	}

	// Definitions go to the model's provider. What the model calls comes back.
	for _, def := range set.Definitions() {
		fmt.Println(def.Name)
	}
	res := set.Call(ctx, toolset.Call{
		Name:      "execute",
		Arguments: json.RawMessage(`{"command":"echo hello; exit 3"}`),
	})
	// Content is for the model. Output is for a user interface, and nil if there
	// is no process.
	if res.Output == nil {
		log.Print(res.Content) // log.Fatal would skip Close
		return
	}
	fmt.Println(json.Valid([]byte(res.Content)), res.IsError)
	fmt.Printf("%q, exit code %d\n", res.Output.Text, *res.Output.Process.ExitCode)
	// Output:
	// execute
	// process_output
	// process_list
	// process_signal
	// true false
	// "hello\n", exit code 3
}

// One set of tools serves every chat, if the context of a call says which one
// it is for.
func ExampleResolver() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	manager, err := proclocal.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Close() // ends what still runs

	type chatKey struct{}
	set, err := toolset.New(func(ctx context.Context) (procmgr.Manager, error) {
		id, _ := ctx.Value(chatKey{}).(string)
		return manager.Chat(id), nil // without an ID it refuses every call
	}, nil)
	if err != nil {
		log.Print(err)
		return
	}

	res := set.Call(context.WithValue(ctx, chatKey{}, "alice"), toolset.Call{
		Name:      "execute",
		Arguments: json.RawMessage(`{"command":"echo hello"}`),
	})
	if res.Output == nil {
		log.Print(res.Content) // log.Fatal would skip Close
		return
	}
	fmt.Printf("%s: %q\n", res.Output.Process.ChatID, res.Output.Text)
	// Output: alice: "hello\n"
}

// A host waits until there is something to tell an idle model.
func ExampleSet_Inbox() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	manager, err := proclocal.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Close() // ends what still runs

	set, err := toolset.New(toolset.Static(manager.Chat("chat-1")), &toolset.Options{
		NoticesInInbox: true,
		// So that the output below is always the same.
		ProcessID: func(context.Context, toolset.Call) string { return "npc5orns6a" },
	})
	if err != nil {
		log.Print(err)
		return
	}
	inbox := set.Inbox(ctx, "") // or the cursor that was saved last
	set.Call(ctx, toolset.Call{
		Name:      "execute",
		Arguments: json.RawMessage(`{"command":"sleep 0.5; echo 3 failing; exit 1","run_in_background":true}`),
	})
	if err := inbox.Wait(ctx); err != nil {
		log.Print(err) // log.Fatal would skip Close
		return
	}
	notices, err := inbox.Pending(ctx)
	if err != nil {
		log.Print(err)
		return
	}
	// notices.Text goes to the model, as a message of the user's role.
	for _, p := range notices.Processes {
		fmt.Println(p.ID, "exit code", *p.ExitCode)
	}
	cursor := inbox.Ack(notices) // once the provider has taken the request
	fmt.Println("a cursor to save:", cursor != "")
	// Output:
	// npc5orns6a exit code 1
	// a cursor to save: true
}
