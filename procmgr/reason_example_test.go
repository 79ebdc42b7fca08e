package procmgr_test

import (
	"context"
	"fmt"
	"log"

	"github.com/toolproc/toolproc/procmgr"
)

func ExampleReason() {
	manager, err := procmgr.NewLocal(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Close() // ends what still runs

	_, err = manager.Start(context.Background(), procmgr.StartRequest{ID: "x", Command: " "})
	fmt.Println(err)
	fmt.Println(procmgr.Reason(err))
	// Output:
	// procmgr: start "x": the command is empty: invalid request
	// the command is empty
}
