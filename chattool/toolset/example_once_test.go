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

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A host that replays calls names each by its place in the conversation. What the
// provider calls it will not do: here both answers begin with call_0.
func ExampleOptions_processID() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "once")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	manager, err := proclocal.New(&proclocal.Options{WorkDir: dir})
	if err != nil {
		log.Print(err) // log.Fatal would skip the deferred calls
		return
	}
	defer manager.Close() // ends what still runs

	type placeKey struct{}
	set, err := toolset.New(toolset.Static(manager.Chat("chat-1")), &toolset.Options{
		ProcessID: func(ctx context.Context, _ toolset.Call) string {
			place, _ := ctx.Value(placeKey{}).(string)
			return place
		},
	})
	if err != nil {
		log.Print(err)
		return
	}
	carryOut := func(place string) {
		res := set.Call(context.WithValue(ctx, placeKey{}, place), toolset.Call{
			ID:        "call_0",
			Name:      "execute",
			Arguments: []byte(`{"command":"echo run >>log; grep -c run log"}`),
		})
		if res.Output == nil {
			log.Print(res.Content)
			return
		}
		fmt.Printf("%s: runs so far: %s\n", place, strings.TrimSpace(res.Output.Text))
	}
	carryOut("message-3-call-0")
	carryOut("message-3-call-0") // once more, since the result was lost
	carryOut("message-5-call-0")
	// Output:
	// message-3-call-0: runs so far: 1
	// message-3-call-0: runs so far: 1
	// message-5-call-0: runs so far: 2
}
