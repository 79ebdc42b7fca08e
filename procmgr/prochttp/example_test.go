package prochttp_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// Authorize binds each caller to its own chats.
func ExampleNewHandler() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	local, err := proclocal.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer local.Close() // ends all processes
	chats := map[string][]string{"alice": {"a-1", "a-2"}, "bob": {"b-1"}}
	handler, err := prochttp.NewHandler(local, &prochttp.HandlerOptions{
		Authorize: func(r *http.Request) (prochttp.Scope, error) {
			own, ok := chats[r.Header.Get("X-User")] // set by a proxy that has checked the user
			if !ok {
				return prochttp.Scope{}, errors.New("unknown user")
			}
			return prochttp.Scope{Chats: func(id string) bool { return slices.Contains(own, id) }}, nil
		},
	})
	if err != nil {
		log.Print(err) // log.Fatal would skip Close
		return
	}
	server := httptest.NewServer(handler)
	defer server.Close()

	bob, err := prochttp.NewClient(server.URL, &prochttp.ClientOptions{Inject: func(_ context.Context, h http.Header) { h.Set("X-User", "bob") }})
	if err != nil {
		log.Print(err)
		return
	}
	defer bob.Close()
	_, err = bob.Chat("b-1").List(ctx, procmgr.ListRequest{})
	fmt.Println(err)
	_, err = bob.Chat("a-1").List(ctx, procmgr.ListRequest{})
	fmt.Println(err)
	_, err = bob.List(ctx, procmgr.ListRequest{})
	fmt.Println(err)
	// Output:
	// <nil>
	// prochttp: list: this caller may not act for this chat: refused
	// prochttp: list: this caller may not act without a chat: name one in the header Toolproc-Chat-Id: refused
}

// If the answer to a start is lost, the caller finds the process by its ID.
func ExampleNewClient() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	local, err := proclocal.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer local.Close() // ends all processes
	handler, err := prochttp.NewHandler(local, &prochttp.HandlerOptions{Insecure: true})
	if err != nil {
		log.Print(err) // log.Fatal would skip Close
		return
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	client, err := prochttp.NewClient(server.URL, nil)
	if err != nil {
		log.Print(err)
		return
	}
	defer client.Close()

	req := procmgr.StartRequest{ID: "migration-7", Command: "echo migrated", Wait: time.Minute}
	for range 2 {
		out, err := client.Start(ctx, req)
		if err != nil {
			log.Print(err)
			return
		}
		fmt.Printf("%q attached=%v\n", out.Text, out.Attached)
	}
	// Output:
	// "migrated\n" attached=false
	// "migrated\n" attached=true
}
