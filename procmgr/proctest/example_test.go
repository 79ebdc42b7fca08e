package proctest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// A test of an agent needs neither the commands that its model runs, nor their time: a
// Script plays them. In testing/synctest the hour below takes no time either.
func ExampleNewScript() {
	host := proctest.NewScript()
	defer host.Close()
	host.On("make test",
		func(c *proctest.Command) int { // the first time
			fmt.Fprintln(c, "compiling")
			fmt.Fprintln(c, "FAIL: TestTotal")
			return 2
		},
		proctest.Prints("PASS\n", 0)) // from then on
	host.On("npm run *", func(c *proctest.Command) int {
		fmt.Fprintln(c, "listening on port 3000")
		c.Sleep(time.Hour)
		return 0
	})

	set, err := toolset.New(toolset.Static(host.Chat("chat-1")), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, command := range []string{"make test", "make test", "npm run dev", "rm -rf /"} {
		arguments, _ := json.Marshal(map[string]string{"command": command, "timeout": "250ms"})
		out := set.Call(context.Background(), toolset.Call{Name: "execute", Arguments: arguments}).Output
		code := "none yet"
		if c := out.Process.ExitCode; c != nil {
			code = fmt.Sprint(*c)
		}
		fmt.Printf("%s: %s, exit code %s, %q\n", command, out.Process.State, code, out.Text)
	}
	// Output:
	// make test: exited, exit code 2, "compiling\nFAIL: TestTotal\n"
	// make test: exited, exit code 0, "PASS\n"
	// npm run dev: running, exit code none yet, "listening on port 3000\n"
	// rm -rf /: exited, exit code 127, "no play is scripted for this command\n"
}
