package policy_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/shellfacts/policy"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// What only reads runs at once. A person at the terminal is asked about everything else.
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	manager, err := proclocal.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Close() // ends what still runs
	list := policy.NewAllowList(policy.ReadOnly(), policy.NewTerminal(os.Stdin, os.Stdout).Ask)
	set, err := toolset.New(toolset.Static(manager.Chat("chat-1")), &toolset.Options{Approve: list.Approve})
	if err != nil {
		log.Print(err)
		return
	}
	res := set.Call(ctx, toolset.Call{Name: "execute", Arguments: []byte(`{"command":"ls / | grep -x tmp"}`)})
	fmt.Print(res.Output.Text)
	// Output: tmp
}

// The policy is for toolset.Options.Approve. Here a person is asked who always says no.
func ExampleNewAllowList() {
	list := policy.NewAllowList(policy.ReadOnly(), func(_ context.Context, question string, _ bool) (policy.Answer, error) {
		fmt.Println(question)
		return policy.No, nil
	})
	for _, command := range []string{"grep -rn TODO . | head", "cd web && rm -r build && make"} {
		verdict, err := list.Approve(context.Background(), toolset.Question{Command: command, Shell: "bash"})
		fmt.Println(verdict.Deny, err)
	}
	// Output:
	// false <nil>
	// Run "cd web && rm -r build && make"?
	//   - Run "rm" "-r" "build"
	//   - Run "make"
	//   - Change the file "web/build"
	// true <nil>
}
