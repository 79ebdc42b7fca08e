package procnats_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/toolproc/toolproc/contrib/procnats"
)

// Machines that are busy get no more chats. If all are, another machine is made.
func ExampleChooseFunc() {
	makeMachine := func(context.Context) (string, error) { return "build-3", nil }

	choose := func(ctx context.Context, chat string, machines []procnats.Machine) (string, error) {
		machines = slices.DeleteFunc(machines, func(m procnats.Machine) bool { return m.Load.Running+m.Placed >= 8 })
		if len(machines) == 0 {
			return makeMachine(ctx) // and wait until the scheduler has made it
		}
		return procnats.LeastLoad(ctx, chat, machines)
	}

	fmt.Println(choose(context.Background(), "chat", []procnats.Machine{
		{Name: "build-1", Load: procnats.Load{Running: 2}, Placed: 7},
		{Name: "build-2", Load: procnats.Load{Running: 3}},
	}))
	fmt.Println(choose(context.Background(), "chat", nil))
	// Output:
	// build-2 <nil>
	// build-3 <nil>
}
