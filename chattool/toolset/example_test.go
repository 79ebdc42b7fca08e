package toolset_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
)

func ExampleNew() {
	// A manager that runs nothing; procmgr.NewLocal runs commands here.
	manager := &fake{start: func(_ context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
		return exited(req.ID, 0, "hello\n"), nil
	}}
	set := toolset.New(toolset.Static(manager), nil)

	// Definitions go to the model's provider. What the model calls comes back.
	for _, def := range set.Definitions() {
		fmt.Println(def.Name)
	}
	res := set.Call(context.Background(), toolset.Call{
		Name:      "execute",
		Arguments: json.RawMessage(`{"command":"echo hello"}`),
	})
	fmt.Println(res.Content)
	// Output:
	// execute
	// process_output
	// process_list
	// process_signal
	// {"success":true,"output":"hello\n","exit_code":0,"state":"exited","wall_duration_ms":1500}
}

func ExampleStatic() {
	resolver := toolset.Static(&fake{})
	manager, err := resolver(context.Background())
	fmt.Println(manager != nil, err)
	// Output: true <nil>
}

// A mistake in the arguments is told to the model, and runs nothing.
func ExampleSet_Call_mistake() {
	set := toolset.New(toolset.Static(&fake{}), nil)
	res := set.Call(context.Background(), toolset.Call{
		Name:      "execute",
		Arguments: json.RawMessage(`{"cmd":"echo hello"}`),
	})
	fmt.Println(res.IsError, res.Content)
	// Output:
	// true {"success":false,"error":"execute: there is no argument \"cmd\", it is called \"command\"; this tool takes command, timeout, workdir, run_in_background"}
}
