package main

import (
	"os"
	"path/filepath"
)

// Task is the task of the script Greeter, in the project that WriteProject writes.
const Task = "Our greeter's test fails. Mend it, and show that the server greets as well. Then I want the log and the report. Leave nothing running."

// project holds the files of the task.
var project = map[string]string{
	"greet.sh": `echo "Hello, $2!"
`,
	"test.sh": `got=$(sh greet.sh Ada)
if [ "$got" != "Hello, Ada!" ]; then
	echo "greet.sh Ada: got \"$got\", want \"Hello, Ada!\""
	exit 3
fi
echo "greet.sh: good"
`,
	// The sleep is longer than execute watches a command that it has started in
	// the background.
	"serve.sh": `sleep 0.8
mkfifo requests
exec <> requests # for writing too, so that it never ends
echo "listening on requests"
while read -r name; do
	sh greet.sh "$name"
done
`,
	"log.sh": `awk 'BEGIN { for (i = 1; i <= 40000; i++) printf "%05d all is well, nothing to see here, move along\n", i }'
`,
	// The report takes longer than the model waits for it at first.
	"report.sh": `echo "report: counting"
sleep 2
echo "report: 1 guest, greeted once"
`,
}

// WriteProject writes the files of the task into a directory.
func WriteProject(dir string) error {
	for name, content := range project {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

const exited = "exit code 0"

// Greeter shows what a model gets of the tools: an exit code, a server behind a
// trailing &, a wait for a line, an output of 2 MB, and a timeout that kills
// nothing.
var Greeter = Script{
	{"First the test, to see how it fails.", []Call{Execute("sh test.sh", "exit code 3")}},
	{
		"Exit code 3, so that is the test's own verdict. What does the greeter do with its argument?",
		[]Call{Execute("grep -n . greet.sh", `\$2`)},
	},
	{
		"It takes the second one, and there is only one. I mend it and test it again.",
		[]Call{Execute(`echo 'echo "Hello, $1!"' > greet.sh`, exited), Execute("sh test.sh", "greet.sh: good")},
	},
	{
		"The test passes. Now the server. It must not keep me waiting, hence the &.",
		[]Call{Execute("sh serve.sh &", `process (?P<server>\w+).*The trailing & was taken off`)},
	},
	{
		"I wait until it says that it listens, and not a moment longer.",
		[]Call{{"process_output", `{"process_id":"{server}","wait_for":"listening","wait_timeout":"30s"}`, `wait_for matched`}},
	},
	{
		"It does. A request, and its answer.",
		[]Call{
			Execute("echo Grace > requests", exited),
			{"process_output", `{"process_id":"{server}","wait_for":"Hello, Grace!","wait_timeout":"30s"}`, `wait_for matched`},
		},
	},
	{"It greets. And the log?", []Call{Execute("sh log.sh", `(?P<all>2,040,000) bytes printed, (?P<kept>[\d,]+) shown`)}},
	{
		"{all} bytes, of which I was spared all but {kept}: the beginning and the end. Last, the report, which should take no more than a second.",
		[]Call{{"execute", `{"command":"sh report.sh","timeout":"1s"}`, `process (?P<report>\w+) · next_offset (?P<next>17).*nothing was killed`}},
	},
	{
		"It takes longer. It was not killed, so I need not run it again: I wait on, and read only what is new.",
		[]Call{{"process_output", `{"process_id":"{report}","wait_timeout":"1m","since":{next}}`, exited + ".*report: 1 guest, greeted once"}},
	},
	{"What is still running?", []Call{{"process_list", `{}`, "{server}  running"}}},
	{
		"Only the server. It goes.",
		[]Call{{"process_signal", `{"process_id":"{server}","signal":"terminate"}`, "SIGTERM"}},
	},
	{"Done: greet.sh took its second argument instead of the first. The test passes, the server greets, the report is good, and nothing is left running.", nil},
}
