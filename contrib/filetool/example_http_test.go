package filetool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/filetool"
	"github.com/toolproc/toolproc/contrib/filetool/filehttp"
	"github.com/toolproc/toolproc/contrib/filetool/procfile"
)

// The tools on files of another machine.
func ExampleNew_remote() {
	work, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(work)

	// There:
	local, err := procfile.NewLocal(&procfile.LocalOptions{Root: work})
	if err != nil {
		log.Print(err)
		return
	}
	defer local.Close()
	handler, err := filehttp.NewHandler(local, &filehttp.HandlerOptions{Token: "secret"})
	if err != nil {
		log.Print(err)
		return
	}
	server := httptest.NewServer(http.StripPrefix("/files", handler))
	defer server.Close()

	// Here:
	client, err := filehttp.NewClient(server.URL+"/files", &filehttp.ClientOptions{Token: "secret"})
	if err != nil {
		log.Print(err)
		return
	}
	defer client.Close()
	set := filetool.New(client, nil)
	res := set.Call(context.Background(), toolset.Call{Name: "write_file", Arguments: json.RawMessage(`{"path":"notes/a.txt","content":"hello\n"}`)})
	fmt.Println(res.Content)
	// Output: {"success":true,"lines":1,"size":6,"created":true}
}
