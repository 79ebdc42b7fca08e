package toolset_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

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
	show := func(text string) {
		fmt.Print(text)
		if text != "" {
			close(interrupted)
		}
	}
	set, err := toolset.New(toolset.Static(manager.Chat("chat-1")), &toolset.Options{
		OnOutput: func(_ context.Context, c toolset.Call, chunk procmgr.Chunk) {
			show(chunk.Text) // chunk.Live is the line that is being redrawn
		},
	})
	if err != nil {
		log.Print(err) // log.Fatal would skip Close
		return
	}
	defer set.Close()

	stopped := make(chan []procmgr.Process)
	go func() {
		<-interrupted
		ended, err := set.Stop(ctx)
		if err != nil {
			log.Print(err)
		}
		stopped <- ended
	}()
	res := set.Call(ctx, toolset.Call{Name: "execute", Arguments: []byte(`{"command":"echo working; sleep 1000","timeout":"1h"}`)})
	fmt.Println(res.Report.Error)
	fmt.Println(len(<-stopped), "process ended")
	// Output:
	// working
	// stopped by the user; the command was stopped
	// 1 process ended
}
