package shellfacts_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/shellfacts"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// approve lets some programs read, and asks a person about everything else.
func approve(ctx context.Context, q toolset.Question) (toolset.Verdict, error) {
	reads := []string{"cat", "grep", "head", "ls", "tail", "wc"}
	facts := shellfacts.Parse(q.Command, q.Shell)
	harmless := q.ProcessID == "" && facts.Complete && len(facts.Writes) == 0
	for _, p := range facts.Programs {
		harmless = harmless && slices.Contains(reads, p.Name) && p.Known && !p.Files && len(p.Through) == 0
	}
	if harmless || ask(ctx, fmt.Sprintf("%s %+q", q.Call.Name, q.Call.Arguments)) {
		return toolset.Verdict{}, nil
	}
	return toolset.Verdict{Deny: true, Reason: "the user said no"}, nil
}

func approved(manager procmgr.Manager) (*toolset.Set, error) {
	return toolset.New(toolset.Static(manager), &toolset.Options{Approve: approve})
}

func ask(_ context.Context, question string) bool {
	fmt.Println("asked:", question)
	return strings.Contains(question, "mkdir")
}

// A host asks a person about each command that may do more than read.
func Example_approve() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop() // Ctrl-C ends ctx and not the program, so that Close is called
	dir, err := os.MkdirTemp("", "approve-")
	if err != nil {
		log.Print(err)
		return
	}
	defer os.RemoveAll(dir)
	local, err := proclocal.New(&proclocal.Options{WorkDir: dir})
	if err != nil {
		log.Print(err)
		return
	}
	defer local.Close()
	set, err := approved(local.Chat("chat-1"))
	if err != nil {
		log.Print(err)
		return
	}
	for _, command := range []string{"ls | wc -l", "mkdir allowed", "touch denied", "sudo cat denied"} {
		arguments, _ := json.Marshal(map[string]string{"command": command}) // a string: no error
		res := set.Call(ctx, toolset.Call{Name: "execute", Arguments: arguments})
		fmt.Println("denied:", res.Report.Denied)
	}
	made, _ := os.ReadDir(dir)
	fmt.Println(len(made), "made:", made[0].Name())
	// Output:
	// denied: false
	// asked: execute "{\"command\":\"mkdir allowed\"}"
	// denied: false
	// asked: execute "{\"command\":\"touch denied\"}"
	// denied: true
	// asked: execute "{\"command\":\"sudo cat denied\"}"
	// denied: true
	// 1 made: allowed
}
