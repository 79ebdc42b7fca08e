package procnats_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/procnats"
)

// Two machines are one Host. Each chat is placed once, on the machine that has
// the fewest processes.
func ExampleNewRouter() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, _ := os.MkdirTemp("", "toolproc-example-")
	defer os.RemoveAll(dir)
	broker, _ := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true})
	broker.Start()
	defer broker.WaitForShutdown()
	defer broker.Shutdown()

	for _, name := range []string{"east", "west"} { // each of them is elsewhere
		local, _ := procmgr.NewLocal(nil)
		defer local.Close()
		handler, _ := prochttp.NewHandler(local, &prochttp.HandlerOptions{Insecure: true})
		nc, _ := nats.Connect(broker.ClientURL())
		defer nc.Close()
		service, _ := procnats.Serve(ctx, nc, name, handler, &procnats.Options{Host: local})
		defer service.Close()
	}

	nc, _ := nats.Connect(broker.ClientURL(), nats.CustomInboxPrefix("_INBOX_agent"), nats.MaxReconnects(-1))
	defer nc.Close()
	js, _ := jetstream.New(nc)
	placer, err := procnats.NewPlacer(js, "places", procnats.LeastLoad)
	if err != nil {
		fmt.Println(err)
		return
	}
	host := procmgr.NewRoute(procnats.NewRouter(nc, placer, nil), nil)

	out, err := host.Chat("one").Start(ctx, procmgr.StartRequest{Command: "echo hello", Wait: 10 * time.Second})
	fmt.Print(out.Text, err)
	// Output:
	// hello
	// <nil>
}
