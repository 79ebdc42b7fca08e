package chattool_test

import (
	"context"
	"fmt"

	"charm.land/fantasy"
	"github.com/toolproc/toolproc/chattool"
	"github.com/toolproc/toolproc/chattool/toolset"
)

func ExampleAll() {
	// A manager that runs nothing; procmgr.NewLocal runs commands here.
	managers := toolset.Static(&fake{text: "hello\n"})
	tools := chattool.All(managers, nil)
	agent := fantasy.NewAgent(&scripted{}, fantasy.WithTools(tools...), fantasy.WithRepairToolCall(chattool.NoRepair))

	for _, tool := range tools {
		fmt.Println(tool.Info().Name)
	}
	fmt.Println(agent != nil)
	// Output:
	// execute
	// process_output
	// process_list
	// process_signal
	// true
}

// run makes one call, as an agent would.
func run(tool fantasy.AgentTool, input string) {
	response, err := tool.Run(context.Background(), fantasy.ToolCall{ID: "1", Name: tool.Info().Name, Input: input})
	fmt.Println(response.Content, err)
}

func ExampleExecute() {
	run(chattool.Execute(toolset.Static(&fake{text: "hello\n"}), nil), `{"command":"echo hello"}`)
	// Output: {"success":true,"output":"hello\n","exit_code":0,"state":"exited"} <nil>
}

func ExampleProcessOutput() {
	run(chattool.ProcessOutput(toolset.Static(&fake{exit: 1, text: "no\n"}), nil), `{"process_id":"abc"}`)
	// Output: {"success":false,"output":"no\n","exit_code":1,"state":"exited","next_offset":0} <nil>
}

func ExampleProcessList() {
	run(chattool.ProcessList(toolset.Static(&fake{}), nil), `{}`)
	// Output: {"processes":[],"omitted":0} <nil>
}

func ExampleProcessSignal() {
	run(chattool.ProcessSignal(toolset.Static(&fake{}), nil), `{"process_id":"abc","signal":"terminate"}`)
	// Output: {"success":true,"exit_code":0,"state":"exited","note":"Process abc has ended, as it was asked to."} <nil>
}
