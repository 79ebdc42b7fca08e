package procview_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/signal"
	"syscall"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/procview"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A program serves the page beside its agent. A person opens the URL.
func ExampleNew() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	manager, err := proclocal.New(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer manager.Close()

	view, err := procview.New(manager, &procview.Options{Loopback: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/procs/", http.StripPrefix("/procs", view))
	server := httptest.NewServer(mux) // http.ListenAndServe in a real program
	defer server.Close()
	page := view.URL(server.URL + "/procs/") // for a person
	fmt.Println("processes:", page[:len("http://127.0.0.1:")])

	tools, err := toolset.New(toolset.Static(manager.Chat("greetings")), &toolset.Options{OnResult: view.Result})
	if err != nil {
		fmt.Println(err)
		return
	}
	res := tools.Call(ctx, toolset.Call{Name: "execute", Arguments: json.RawMessage(`{"command":"echo hello"}`)})
	fmt.Print(res.Output.Text)
	// Output:
	// processes: http://127.0.0.1:
	// hello
}

// A program without an HTTP server of its own shows the page on this machine.
func ExampleServe() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	manager, err := proclocal.New(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer manager.Close()

	page, err := procview.Serve(ctx, manager, "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer page.Close()
	tools, err := toolset.New(toolset.Static(manager.Chat("chat-1")), &toolset.Options{OnResult: page.View.Result})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("processes:", page.URL[:len("http://127.0.0.1:")])

	res := tools.Call(ctx, toolset.Call{Name: "execute", Arguments: json.RawMessage(`{"command":"echo hello"}`)})
	fmt.Print(res.Output.Text)
	// Output:
	// processes: http://127.0.0.1:
	// hello
}
