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

func ExampleReason() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	manager, err := proclocal.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Close() // ends what still runs

	_, err = manager.Start(ctx, procmgr.StartRequest{ID: "x", Command: " "})
	fmt.Println(err)
	fmt.Println(procmgr.Reason(err))
	// Output:
	// procmgr: start "x": the command is empty: invalid request
	// the command is empty
}
