package main

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
)

const twoQuestions = `printf 'name? '; read -r x; echo "got $x"; printf 'more? '; read -r y; echo "and $y"`

// inputServer returns a client of a server with -input.
func inputServer(t *testing.T, caps *mcp.ClientCapabilities) (c *client, dir string) {
	t.Helper()
	local, dir := newLocal(t)
	s := serverWith(local, stdioChat, toolset.Options{MaxTimeout: maxWait, Input: true}, quiet)
	return connectTasks(t, dialMemory(t, s), caps), dir
}

// update answers a question of a task.
func (c *client) update(t *testing.T, id, question string, answer *mcp.ElicitResult) error {
	t.Helper()
	_, err := mcp.CallCustomMethod[*taskParams, *taskAck](t.Context(), c.ClientSession, "tasks/update",
		&taskParams{TaskID: id, InputResponses: mcp.InputResponseMap{question: answer}})
	return err
}

// asked waits until a task asks a question that is none of those before.
func (c *client) asked(t *testing.T, id string, before ...string) (question string, params *mcp.ElicitParams) {
	t.Helper()
	for {
		for key, request := range c.until(t, id, "input_required").InputRequests {
			if !strings.Contains(strings.Join(before, " "), key) {
				return key, request.(*mcp.ElicitParams)
			}
		}
	}
}

func given(text string) *mcp.ElicitResult {
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"input": text}}
}

// A process that waits for input asks the user, and gets each answer once.
func TestTaskAsks(t *testing.T) {
	t.Parallel()
	for stdin, output := range map[string]string{
		"open":     "name? got it's\nmore? and 2\n",
		"terminal": "name? it's\ngot it's\nmore? 2\nand 2\n",
	} {
		t.Run(stdin, func(t *testing.T) {
			t.Parallel()
			c, _ := inputServer(t, announced())
			id := c.start(t, args{"command": twoQuestions, "stdin": stdin, "timeout": "1m"}).TaskID
			first, params := c.asked(t, id)
			require.Equal(t, "name?", params.Message)
			require.Equal(t, "form", params.Mode)
			require.NoError(t, c.update(t, id, "input-other", given("no")))
			for range 2 {
				require.NoError(t, c.update(t, id, first, given("it's")))
			}
			second, params := c.asked(t, id, first)
			require.Contains(t, params.Message, "more?")
			require.NoError(t, c.update(t, id, first, given("no")))
			require.NoError(t, c.update(t, id, second, given("2")))
			ended := c.until(t, id, "completed")
			res, _ := read(t, ended.Result)
			require.Equal(t, output, res.Output)
			require.NoError(t, c.update(t, id, second, given("no")))
			require.Equal(t, ended, c.get(t, id))
		})
	}
}

// If the user is not to answer, the call ends as ever, and the model can.
func TestModelAnswers(t *testing.T) {
	t.Parallel()
	declined := func(t *testing.T, c *client, id string) {
		t.Helper()
		question, _ := c.asked(t, id)
		require.NoError(t, c.update(t, id, question, &mcp.ElicitResult{Action: "decline"}))
	}
	cannotAsk := &mcp.ClientCapabilities{}
	cannotAsk.AddExtension(tasksExtension, nil)
	for _, test := range []struct {
		name    string
		caps    *mcp.ClientCapabilities
		command string
		then    func(*testing.T, *client, string)
	}{
		{"declined", announced(), `read -r x; echo "got $x"`, declined},
		{"declined by an empty form", announced(), `read -r x; echo "got $x"`, func(t *testing.T, c *client, id string) {
			question, _ := c.asked(t, id)
			require.NoError(t, c.update(t, id, question, &mcp.ElicitResult{Action: "accept"}))
		}},
		{"the client cannot ask", cannotAsk, `read -r x; echo "got $x"`, nil},
		{"a password", announced(), `read -r x; echo "got $x"`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, dir := inputServer(t, test.caps)
			command := untilGo(test.command)["command"].(string)
			if test.name == "a password" {
				command = "stty -echo; " + command
			}
			task := c.start(t, args{"command": command, "stdin": "terminal"})
			letGo(t, dir)
			if test.then != nil {
				test.then(t, c, task.TaskID)
			}
			ended := c.until(t, task.TaskID, "completed")
			require.Equal(t, true, ended.Result.StructuredContent.(map[string]any)["waiting_for_input"])
			require.Equal(t, "running", ended.Result.StructuredContent.(map[string]any)["state"])
			c.cancel(t, task.TaskID) // the process is the model's by now
			res, isError := c.call(t, "process_input", args{"process_id": task.TaskID, "text": "it\n", "end": true})
			require.False(t, isError)
			require.Contains(t, res.Output, "got it\n")
		})
	}
}

// An answer that cannot be written is the client's mistake.
func TestTaskAnswerTooLong(t *testing.T) {
	t.Parallel()
	c, _ := inputServer(t, announced())
	id := c.start(t, args{"command": `read -r x; echo "got $x"`, "stdin": "open"}).TaskID
	question, params := c.asked(t, id)
	require.Equal(t, "The command waits for input.", params.Message)
	require.ErrorContains(t, c.update(t, id, question, given(strings.Repeat("x", 100_000))), "at most 65536")
	require.NoError(t, c.update(t, id, question, given("it")))
	c.until(t, id, "completed")
}

// The wire of the extension.
func TestTaskTranscript(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	c, dir := inputServer(t, announced())
	from := len(c.wire.String())
	note := func(title string) {
		all.WriteString("# " + title + "\n" + c.wire.exchanges(t, from, dir) + "\n")
		from = len(c.wire.String())
	}
	id := c.start(t, untilGo("exit 3")).TaskID
	c.saying(t, id, "begun")
	note("a command that runs on")
	letGo(t, dir)
	c.until(t, id, "completed")
	note("it has ended, with exit code 3")

	id = c.start(t, args{"command": `printf 'name? '; read -r x; echo "got $x"`, "stdin": "open"}).TaskID
	question, _ := c.asked(t, id)
	require.NoError(t, c.update(t, id, question, given("it")))
	c.until(t, id, "completed")
	note("a question")

	id = c.start(t, args{"command": "exec sleep 1000"}).TaskID
	c.cancel(t, id)
	c.until(t, id, "cancelled")
	note("a cancel")

	_, err := mcp.CallCustomMethod[*taskParams, *taskResult](t.Context(), c.ClientSession, "tasks/get", &taskParams{TaskID: "nosuchtask"})
	require.Error(t, err)
	note("an unknown task")

	local, dir := newLocal(t)
	s := newServer(local, stdioChat, maxWait, quiet)
	s.taskWait = long
	c = connectTasks(t, dialMemory(t, s), announced())
	from = len(c.wire.String())
	_, _ = c.execute(t, args{"command": "exit 3"})
	note("a command that ends in time")

	c = connectTasks(t, dialMemory(t, s), &mcp.ClientCapabilities{})
	from = len(c.wire.String())
	_, _ = c.execute(t, args{"command": "exec sleep 1000", "timeout": "1500ms"})
	note("a client that does not announce the extension")

	const golden = "testdata/tasks.txt"
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(all.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), all.String(), "go test -update writes it anew")
}

var update = flag.Bool("update", false, "write testdata/tasks.txt anew")
