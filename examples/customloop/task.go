package main

import (
	"os"
	"path/filepath"
)

// task is the task of the script.
const task = "Our greeter's test fails. Mend it, and show that the server greets as well. Leave nothing running."

// project holds the files of the task.
var project = map[string]string{
	"greet.sh": `echo "Hello, $2!"
`,
	"test.sh": `got=$(sh greet.sh Ada)
if [ "$got" != "Hello, Ada!" ]; then
	echo "greet.sh Ada: got \"$got\", want \"Hello, Ada!\""
	exit 1
fi
echo "greet.sh: good"
`,
	// The sleep is longer than execute watches a command that it has started in
	// the background.
	"serve.sh": `sleep 1
mkfifo requests
exec <> requests # for writing too, so that it never ends
echo "listening on requests"
while read -r name; do
	sh greet.sh "$name"
done
`,
}

func writeProject(dir string) error {
	for name, content := range project {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// scenes are the steps of the script.
var scenes = []scene{
	{
		says:  "First the test, to see how it fails.",
		calls: []scripted{execute("sh test.sh", `"exit_code":1`)},
	},
	{
		says:  "Nobody is greeted. What does the greeter do with its argument?",
		calls: []scripted{execute("grep -n . greet.sh", "$2")},
	},
	{
		says: "It takes the second one, and there is only one. I mend it and test it again.",
		calls: []scripted{
			execute(`sed 's/\$2/$1/' greet.sh > fixed && mv fixed greet.sh`, `"exit_code":0`),
			execute("sh test.sh", "greet.sh: good"),
		},
	},
	{
		says: "The test passes. Now the server, which must not keep me waiting.",
		calls: []scripted{{
			tool:      "execute",
			arguments: map[string]any{"command": "sh serve.sh", "run_in_background": true},
			result:    `"state":"running"`,
		}},
	},
	{
		says: "Does it listen? I wait for its own word, and look at what else there is.",
		calls: []scripted{
			{
				tool:      "process_output",
				arguments: map[string]any{"process_id": "SERVER", "wait_for": "listening", "wait_timeout": "30s"},
				result:    "wait_for matched",
			},
			{tool: "process_list", result: `"processes":[`},
		},
	},
	{
		says: "It does. A request, and its answer.",
		calls: []scripted{
			execute("echo Grace > requests", `"exit_code":0`),
			{
				tool:      "process_output",
				arguments: map[string]any{"process_id": "SERVER", "wait_for": "Hello, Grace!", "wait_timeout": "30s"},
				result:    "wait_for matched",
			},
		},
	},
	{
		says: "It greets. It has done its work and goes.",
		calls: []scripted{{
			tool:      "process_signal",
			arguments: map[string]any{"process_id": "SERVER", "signal": "terminate"},
			result:    `"state":"exited"`,
		}},
	},
	{says: "Done: greet.sh took its second argument instead of the first. The test passes, the server greets, and nothing is left running."},
}

// execute returns a command in the foreground.
func execute(command, result string) scripted {
	return scripted{tool: "execute", arguments: map[string]any{"command": command}, result: result}
}
