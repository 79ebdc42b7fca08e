//go:build unix && !aix && (!solaris || illumos)

package prochttp_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// A socket that only this user can open needs no token.
func ExampleListenUnix() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "toolproc.sock")
	listener, err := prochttp.ListenUnix(path)
	if err != nil {
		log.Fatal(err)
	}
	local, err := procmgr.NewLocal(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer local.Close()
	handler, err := prochttp.NewHandler(local, &prochttp.HandlerOptions{Insecure: true})
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()

	client, err := prochttp.NewClient("unix://"+path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	out, err := client.Start(context.Background(), procmgr.StartRequest{Command: "echo hello", Wait: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(out.Text)
	// Output:
	// hello
}
