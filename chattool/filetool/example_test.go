package filetool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/toolproc/toolproc/chattool/filetool"
	"github.com/toolproc/toolproc/chattool/toolset"
)

func ExampleNew() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	files, err := filetool.NewLocal(&filetool.LocalOptions{Root: dir}) // nothing outside of it
	if err != nil {
		log.Print(err)
		return
	}
	defer files.Close()

	set := filetool.New(files, &filetool.Options{Format: toolset.FormatText})
	call := func(name, arguments string) {
		res := set.Call(context.Background(), filetool.Call{Name: name, Arguments: json.RawMessage(arguments)})
		fmt.Println(res.Content)
	}
	call("write_file", `{"path":"hello.txt","content":"Hello\nworld\n"}`)
	call("read_file", `{"path":"hello.txt","offset":2}`)
	// Output:
	// created · 2 lines in all · 12 bytes
	// lines 2 to 2 · 2 lines in all · 12 bytes
	// ---
	// 2	world
}
