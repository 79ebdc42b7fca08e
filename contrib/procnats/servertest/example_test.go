package servertest_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
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

// A machine serves its processes. An agent runs a command there, and finds its end, also
// if it was away meanwhile.
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	natsURL, shutdown := exampleServer()
	defer shutdown()

	// On the machine.
	nc, err := nats.Connect(natsURL, nats.MaxReconnects(-1))
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	local, err := proclocal.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer local.Close()
	handler, err := prochttp.NewHandler(local, &prochttp.HandlerOptions{Insecure: true})
	if err != nil {
		log.Print(err)
		return
	}
	service, err := procnats.Serve(ctx, nc, "build", handler, &procnats.Options{Host: local, Ends: true})
	if err != nil {
		log.Print(err)
		return
	}
	defer service.Close()

	// Anywhere else.
	agent, err := nats.Connect(natsURL, nats.MaxReconnects(-1), nats.ReconnectBufSize(-1), nats.CustomInboxPrefix("_INBOX_alice"))
	if err != nil {
		log.Print(err)
		return
	}
	defer agent.Close()
	client, err := prochttp.NewClient("http://localhost", &prochttp.ClientOptions{
		Transport: procnats.Transport(agent, "build"),
	})
	if err != nil {
		log.Print(err)
		return
	}
	js, err := jetstream.New(agent)
	if err != nil {
		log.Print(err)
		return
	}
	// Once, with the rights of an administrator.
	if _, err := js.CreateStream(ctx, procnats.EndsConfig()); err != nil {
		log.Print(err)
		return
	}
	out, err := client.Chat("alice-1").Start(ctx, procmgr.StartRequest{ID: "make-1", Command: "echo built; exit 3", Wait: time.Minute})
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Print(out.Text)

	consumer, err := js.CreateOrUpdateConsumer(ctx, "TOOLPROC_ENDS", jetstream.ConsumerConfig{
		Durable:       "alice",
		FilterSubject: procnats.EndsSubject("alice-1"),
	})
	if err != nil {
		log.Print(err)
		return
	}
	msg, err := consumer.Next()
	if err != nil {
		log.Print(err)
		return
	}
	end, err := procnats.ParseEnd(msg)
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Println(end.Host, end.Process.ID, *end.Process.ExitCode)
	if err := msg.Ack(); err != nil { // now it does not come again
		log.Print(err)
	}
	// Output:
	// built
	// build make-1 3
}

// makeMachine stands for your way to ask a scheduler for one more machine.
func makeMachine(context.Context) (string, error) { return "", errors.New("no machine is left") }

// Two machines are one Host. Each chat is placed once, on the machine that has
// the fewest processes, unless all of them are full.
func ExampleNewRouter() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	natsURL, shutdown := exampleServer()
	defer shutdown()

	for _, name := range []string{"east", "west"} { // each of them is elsewhere
		local, _ := proclocal.New(nil)
		defer local.Close()
		handler, _ := prochttp.NewHandler(local, &prochttp.HandlerOptions{Insecure: true})
		nc, _ := nats.Connect(natsURL)
		defer nc.Close()
		service, _ := procnats.Serve(ctx, nc, name, handler, &procnats.Options{Host: local})
		defer service.Close()
	}

	agent, _ := nats.Connect(natsURL, nats.MaxReconnects(-1), nats.ReconnectBufSize(-1), nats.CustomInboxPrefix("_INBOX_agent"))
	defer agent.Close()
	js, _ := jetstream.New(agent)
	_, _ = js.CreateKeyValue(ctx, procnats.PlacesConfig("toolproc_places")) // once, with the rights of an administrator
	choose := func(ctx context.Context, chat string, machines []procnats.Machine) (string, error) {
		machines = slices.DeleteFunc(machines, func(m procnats.Machine) bool { return m.Load.Running+m.Placed >= 8 })
		if len(machines) == 0 {
			return makeMachine(ctx) // and wait until the scheduler has made it
		}
		return procnats.LeastLoad(ctx, chat, machines)
	}
	placer, err := procnats.NewPlacer(js, "toolproc_places", choose)
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

// exampleServer runs a NATS server with JetStream.
func exampleServer() (url string, stop func()) {
	dir, err := os.MkdirTemp("", "nats-")
	if err != nil {
		panic(err)
	}
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true, JetStream: true, StoreDir: dir})
	if err != nil {
		panic(err)
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		panic("the server does not start")
	}
	return s.ClientURL(), func() {
		s.Shutdown()
		s.WaitForShutdown()
		os.RemoveAll(dir)
	}
}
