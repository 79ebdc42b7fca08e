package servertest_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolproc/toolproc/contrib/procnats"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/procroute"
)

// Two machines are one Host. Each chat is placed once, on the machine that has
// the fewest processes.
func ExampleNewRouter() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	natsURL, shutdown := exampleServer()
	defer shutdown()
	for _, name := range []string{"east", "west"} { // each of them is elsewhere
		_, leave := exampleMachine(ctx, natsURL, name, false)
		defer leave()
	}

	agent, _ := nats.Connect(natsURL, nats.MaxReconnects(-1), nats.ReconnectBufSize(-1), nats.CustomInboxPrefix("_INBOX_agent"))
	defer agent.Close()
	js, _ := jetstream.New(agent)
	placer, err := procnats.NewPlacer(js, "toolproc_places", procnats.LeastLoad)
	if err != nil {
		log.Print(err)
		return
	}
	host := procroute.New(procnats.NewRouter(agent, placer, nil), nil)

	out, err := host.Chat("one").Start(ctx, procmgr.StartRequest{Command: "echo hello", Wait: 10 * time.Second})
	fmt.Print(out.Text, err)
	// Output:
	// hello
	// <nil>
}
