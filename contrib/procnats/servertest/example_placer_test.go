package servertest_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolproc/toolproc/contrib/procnats"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
	"github.com/toolproc/toolproc/procmgr/procroute"
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
		local, _ := proclocal.New(nil)
		defer local.Close()
		handler, _ := prochttp.NewHandler(local, &prochttp.HandlerOptions{Insecure: true})
		nc, _ := nats.Connect(broker.ClientURL())
		defer nc.Close()
		service, _ := procnats.Serve(ctx, nc, name, handler, &procnats.Options{Host: local})
		defer service.Close()
	}

	agent, _ := nats.Connect(broker.ClientURL(), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1), nats.CustomInboxPrefix("_INBOX_agent"))
	defer agent.Close()
	js, _ := jetstream.New(agent)
	_, _ = js.CreateKeyValue(ctx, procnats.PlacesConfig("toolproc_places")) // once, with the rights of an administrator
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
