package sandbox_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/toolproc/toolproc/contrib/sandbox"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

func ExampleNew() {
	// Ctrl-C ends ctx and not the program, so that Close is called.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	box, err := sandbox.New(sandbox.Policy{Write: []string{dir}, Network: sandbox.NoNetwork})
	if err != nil {
		log.Print(err) // it names what this machine cannot enforce; log.Fatal would leave dir
		return
	}
	defer box.Close()
	manager, err := proclocal.New(&proclocal.Options{
		Sandbox: box,
		WorkDir: dir,
	})
	if err != nil {
		log.Print(err)
		return
	}
	defer manager.Close() // ends what still runs

	out, err := manager.Start(ctx, procmgr.StartRequest{
		Command: "echo inside >a && cat a; echo outside >/var/tmp/a || echo stopped",
		Wait:    10 * time.Second,
		Env:     map[string]string{"LC_ALL": "C"},
	})
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Print(out.Text)
	// Output:
	// inside
	// bash: line 1: /var/tmp/a: Permission denied
	// stopped
}
