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
)

// A machine serves its processes, and an agent runs a command there.
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
	service, err := procnats.Serve(ctx, nc, "build", handler, &procnats.Options{Host: local})
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
	out, err := client.Chat("alice-1").Start(ctx, procmgr.StartRequest{Command: "echo built", Wait: time.Minute})
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Print(out.Text)
	// Output: built
}

// An agent that was away finds the ends of its chat's processes.
func ExampleParseEnd() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	natsURL, shutdown := exampleServer()
	defer shutdown()
	nc, err := nats.Connect(natsURL, nats.MaxReconnects(-1))
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		log.Fatal(err)
	}

	// Once, with the rights of an administrator.
	if _, err := js.CreateStream(ctx, procnats.EndsConfig()); err != nil {
		log.Fatal(err)
	}

	// On the machine.
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
	if _, err := local.Chat("alice-1").Start(ctx, procmgr.StartRequest{ID: "npm-1", Command: "exit 3"}); err != nil {
		log.Print(err)
		return
	}

	// In the agent.
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
	// Output: build npm-1 3
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
