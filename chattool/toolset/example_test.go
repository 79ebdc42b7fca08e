package toolset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

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

// A host that replays calls stores each with its place in the conversation and with the
// time at which the model's answer came. The provider's ID of a call alone will not do:
// many count from 0 in each answer.
func ExampleStableID() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	manager, err := proclocal.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Close() // ends what still runs
	stored := struct {
		place    string
		issuedAt time.Time
	}{"message-3/call_0", time.Now()}

	set, err := toolset.New(toolset.Static(manager.Chat("chat-1")), &toolset.Options{
		ProcessID: func(_ context.Context, c toolset.Call) string {
			return toolset.StableID("chat-1", c.ID)
		},
	})
	if err != nil {
		log.Print(err)
		return
	}
	printed := make(map[string]bool)
	for range 2 { // once more, as if the first result had been lost
		res := set.Call(ctx, toolset.Call{
			ID:        stored.place,
			Name:      "execute",
			Arguments: []byte(`{"command":"echo $$"}`),
			IssuedAt:  stored.issuedAt,
		})
		printed[res.Output.Text] = true
	}
	fmt.Println("processes:", len(printed))
	// Output: processes: 1
}

// A user interface shows what a command prints while the call waits for it. Then the user
// presses Ctrl-C, and the commands in the foreground end.
func ExampleSet_Stop() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	manager, err := proclocal.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Close() // ends what still runs

	interrupted := make(chan struct{})
	set, err := toolset.New(toolset.Static(manager.Chat("chat-1")), &toolset.Options{
		OnOutput: func(_ context.Context, c toolset.Call, chunk procmgr.Chunk) {
			fmt.Print(chunk.Text) // chunk.Live is the line that is being redrawn
			if chunk.Text != "" {
				close(interrupted)
			}
		},
	})
	if err != nil {
		log.Print(err) // log.Fatal would skip Close
		return
	}
	defer set.Close()

	go func() {
		<-interrupted
		if _, err := set.Stop(ctx); err != nil {
			log.Print(err)
		}
	}()
	res := set.Call(ctx, toolset.Call{Name: "execute", Arguments: []byte(`{"command":"echo working; sleep 1000","timeout":"1h"}`)})
	fmt.Println(res.Report.Error)
	// Output:
	// working
	// stopped by the user; the command was stopped
}
