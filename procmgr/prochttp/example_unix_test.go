//go:build unix

package prochttp_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A socket that only this user can open needs no token.
func ExampleListenUnix() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "toolproc.sock")
	listener, err := prochttp.ListenUnix(path)
	if err != nil {
		log.Print(err) // log.Fatal would skip the deferred calls
		return
	}
	local, err := proclocal.New(nil)
	if err != nil {
		log.Print(err)
		return
	}
	defer local.Close() // ends all processes
	handler, err := prochttp.NewHandler(local, &prochttp.HandlerOptions{Insecure: true})
	if err != nil {
		log.Print(err)
		return
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()

	client, err := prochttp.NewClient("unix://"+path, nil)
	if err != nil {
		log.Print(err)
		return
	}
	defer client.Close()
	out, err := client.Start(ctx, procmgr.StartRequest{Command: "echo hello", Wait: time.Minute})
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Print(out.Text)
	// Output:
	// hello
}
