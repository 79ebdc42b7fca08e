package procmgr_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

func ExampleNewLocal() {
	manager, err := procmgr.NewLocal(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() {
		if err := manager.Close(); err != nil { // ends what still runs
			log.Print(err)
		}
	}()

	out, err := manager.Start(context.Background(), procmgr.StartRequest{
		Command: "echo hello; exit 3",
		Wait:    10 * time.Second,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(out.Text)
	fmt.Println(out.Process.State, *out.Process.ExitCode)
	// Output:
	// hello
	// exited 3
}

// Two chats share a Local and see nothing of each other.
func ExampleLocal_Chat() {
	manager, err := procmgr.NewLocal(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = manager.Close() }()
	ctx := context.Background()
	alice, bob := manager.Chat("alice"), manager.Chat("bob")

	out, err := alice.Start(ctx, procmgr.StartRequest{ID: "build", Command: "make >/dev/null 2>&1; echo built", Wait: 10 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(out.Text)
	_, err = bob.Output(ctx, "build", procmgr.OutputRequest{})
	fmt.Println(err)
	// Output:
	// built
	// procmgr: output "build": no such process
}

// A server is started, waited for until it is ready, and ended.
func ExampleLocal_Output() {
	manager, err := procmgr.NewLocal(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = manager.Close() }()
	ctx := context.Background()

	out, err := manager.Start(ctx, procmgr.StartRequest{Command: "sleep 0.1; echo listening on 8080; exec sleep 1000"})
	if err != nil {
		log.Fatal(err)
	}
	out, err = manager.Output(ctx, out.Process.ID, procmgr.OutputRequest{Until: "listening on", Wait: 10 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Matched, out.Process.State)
	if err := manager.Signal(ctx, out.Process.ID, procmgr.Kill); err != nil {
		log.Fatal(err)
	}
	out, err = manager.Output(ctx, out.Process.ID, procmgr.OutputRequest{From: out.Next})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Process.State, out.Process.Signal, out.Process.EndedBy)
	// Output:
	// true running
	// exited SIGKILL request
}
