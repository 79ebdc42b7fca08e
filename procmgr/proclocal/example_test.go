package proclocal_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

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

	out, err := manager.Start(ctx, procmgr.StartRequest{
		Command: "echo hello; exit 3",
		Wait:    10 * time.Second,
	})
	if err != nil {
		log.Print(err) // log.Fatal would skip Close
		return
	}
	fmt.Print(out.Text)
	fmt.Println(out.Process.State, *out.Process.ExitCode)
	// Output:
	// hello
	// exited 3
}

// Each end is told once, without asking for one process after the other.
func ExampleLocal_Events() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	manager, err := proclocal.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Close() // ends what still runs
	chat := manager.Chat("alice")

	_, err = chat.Start(ctx, procmgr.StartRequest{ID: "build", Command: "echo compiled; exit 1", Notify: "compiled"})
	if err != nil {
		log.Print(err) // log.Fatal would skip Close
		return
	}
	next := "" // keep it, and go on there
	for ended := false; !ended; {
		page, err := chat.Events(ctx, procmgr.EventsRequest{After: next, Wait: time.Minute})
		if errors.Is(err, errors.ErrUnsupported) {
			return // ask List now and then
		} else if err != nil {
			log.Print(err)
			return
		}
		if page.Gap {
			fmt.Println("some were dropped: ask List")
		}
		for _, e := range page.Events {
			fmt.Printf("%s %s %q\n", e.Process.ID, e.Kind, e.Line)
			ended = e.Kind == procmgr.EventExited
		}
		next = page.Next
	}
	// Output:
	// build started ""
	// build matched "compiled"
	// build exited ""
}
