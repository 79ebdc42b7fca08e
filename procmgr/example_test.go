package procmgr_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A user interface shows what a process prints while it runs.
func ExampleFollow() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	manager, err := proclocal.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Close() // ends what still runs

	out, err := manager.Start(ctx, procmgr.StartRequest{Command: "echo one; sleep 0.1; echo two"})
	if err != nil {
		log.Print(err) // log.Fatal would skip Close
		return
	}
	for chunk, err := range procmgr.Follow(ctx, manager, out.Process.ID, nil) {
		if err != nil {
			log.Print(err)
			return
		}
		if chunk.Gap > 0 {
			fmt.Printf("[%d bytes are lost]\n", chunk.Gap)
		}
		fmt.Print(chunk.Text)
	}
	// Output:
	// one
	// two
}
