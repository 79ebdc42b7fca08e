package procfile_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/toolproc/toolproc/contrib/filetool/procfile"
)

func ExampleNewLocal() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("func main() {\n\trun()\n}\n"), 0o600); err != nil {
		log.Print(err)
		return
	}
	files, err := procfile.NewLocal(&procfile.LocalOptions{Root: dir})
	if err != nil {
		log.Print(err)
		return
	}
	defer files.Close()
	res, err := files.Edit(context.Background(), procfile.EditRequest{Files: []procfile.FileEdit{{
		Path:  "main.go",
		Edits: []procfile.Edit{{Search: "\trun()", Replace: "\tif ok {\n\t\trun()\n\t}"}},
	}}})
	if err != nil {
		log.Print(err)
		return
	}
	for _, line := range res.Files[0].Hunks[0].Lines {
		fmt.Printf("%q\n", line.Text)
	}
	// Output:
	// "func main() {"
	// "\tif ok {"
	// "\t\trun()"
	// "\t}"
	// "}"
}
