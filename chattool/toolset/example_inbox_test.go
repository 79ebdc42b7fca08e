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
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

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
