package filetool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/filetool"
	"github.com/toolproc/toolproc/contrib/filetool/procfile"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

func ExampleNew() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	files, err := procfile.NewLocal(&procfile.LocalOptions{Root: dir}) // nothing outside of it
	if err != nil {
		log.Print(err)
		return
	}
	defer files.Close()

	set := filetool.New(files, &filetool.Options{Format: toolset.FormatText})
	call := func(name, arguments string) {
		res := set.Call(context.Background(), toolset.Call{Name: name, Arguments: json.RawMessage(arguments)})
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

// With Options.Files, the note on a cat has the call of read_file that does the same.
func ExampleSet_FileTools() {
	work, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Print(err)
		return
	}
	defer os.RemoveAll(work)
	if err := os.WriteFile(filepath.Join(work, "f.txt"), []byte("one\ntwo\n"), 0o600); err != nil {
		log.Print(err)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	manager, err := proclocal.New(&proclocal.Options{WorkDir: work})
	if err != nil {
		log.Print(err)
		return
	}
	defer manager.Close()

	files, err := procfile.NewLocal(&procfile.LocalOptions{Root: work}) // nothing outside of it
	if err != nil {
		log.Print(err)
		return
	}
	defer files.Close()
	fileSet := filetool.New(files, nil) // it remembers what this chat has read
	set, err := toolset.New(toolset.Static(manager.Chat("chat-1")), &toolset.Options{Files: fileSet.FileTools()})
	if err != nil {
		log.Print(err)
		return
	}
	defs := slices.Concat(set.Definitions(), fileSet.Definitions())

	for _, def := range defs {
		fmt.Println(def.Name)
	}
	res := set.Call(ctx, toolset.Call{Name: "execute", Arguments: json.RawMessage(`{"command":"cat f.txt"}`)})
	fmt.Println(res.Report.Notes)
	read := fileSet.Call(ctx, toolset.Call{Name: "read_file", Arguments: json.RawMessage(`{"path":"f.txt"}`)})
	fmt.Print(*read.Report.Output)
	read = fileSet.Call(ctx, toolset.Call{Name: "read_file", Arguments: json.RawMessage(`{"path":"/etc/passwd"}`)})
	fmt.Println(read.IsError)
	// Output:
	// execute
	// process_output
	// process_list
	// process_signal
	// read_file
	// write_file
	// edit_files
	// [To read files use read_file {"path":"f.txt"}: it shows more of a file and costs less.]
	// 1	one
	// 2	two
	// true
}
