//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
)

func ExampleOpen() {
	prockeep.Main() // first in main; in a test, first in TestMain
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	req := procmgr.StartRequest{ID: "migrate-7", Command: "echo migrated", Wait: 10 * time.Second}

	// Each turn stands for a run of the program. The command runs in the first
	// one alone, and the last one ends the keeper.
	for last := range 2 {
		keeper, err := prockeep.Open(ctx, filepath.Join(dir, "keeper"), nil)
		if err != nil {
			log.Fatal(err)
		}
		out, err := keeper.Chat("deploy").Start(ctx, req)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%q, it ran already: %t\n", out.Text, out.Attached)
		end := keeper.Close
		if last == 1 {
			end = func() error { return keeper.Stop(ctx) }
		}
		if err := end(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// "migrated\n", it ran already: false
	// "migrated\n", it ran already: true
}
