//go:build linux || darwin || freebsd

package toolset_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A host that replays calls stores each with its place in the conversation and with the
// time at which the model's answer came. The provider's ID of a call alone will not do:
// many count from 0 in each answer.
func ExampleStableID() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "once")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()

	type storedCall struct {
		place    string
		issuedAt time.Time
	}
	carryOut := func(manager *proclocal.Local, stored storedCall) {
		set, err := toolset.New(toolset.Static(manager.Chat("chat-1")), &toolset.Options{
			ProcessID: func(_ context.Context, c toolset.Call) string {
				return toolset.StableID("chat-1", c.ID)
			},
		})
		if err != nil {
			log.Print(err)
			return
		}
		res := set.Call(ctx, toolset.Call{
			ID:        stored.place,
			Name:      "execute",
			Arguments: []byte(`{"command":"echo run >>log; grep -c run log"}`),
			IssuedAt:  stored.issuedAt,
		})
		switch {
		case res.Report.ExitCode != nil:
			fmt.Printf("%s ran, runs so far: %s\n", stored.place, strings.TrimSpace(res.Output.Text))
		case res.Report.Unknown:
			fmt.Println(stored.place, "may have run")
		}
	}

	manager, err := proclocal.New(&proclocal.Options{WorkDir: dir})
	if err != nil {
		log.Print(err) // log.Fatal would skip the deferred calls
		return
	}
	defer manager.Close() // ends what still runs
	first := storedCall{"message-3/call_0", time.Now()}
	carryOut(manager, first)
	carryOut(manager, first) // replayed, because its result was lost
	carryOut(manager, storedCall{"message-5/call_0", time.Now()})

	restarted, err := proclocal.New(&proclocal.Options{WorkDir: dir})
	if err != nil {
		log.Print(err)
		return
	}
	defer restarted.Close()
	carryOut(restarted, first)
	// Output:
	// message-3/call_0 ran, runs so far: 1
	// message-3/call_0 ran, runs so far: 1
	// message-5/call_0 ran, runs so far: 2
	// message-3/call_0 may have run
}
