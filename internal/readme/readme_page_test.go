//go:build unix

package readme_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
)

const (
	agentBlock  = "chattool.NewAgent("
	loopBlock   = "func ask("
	firstBlock  = "tools := set.Definitions() //"
	keysBlock   = "examples/remote keys"
	clientBlock = "https://build.example:8443"
	keepBlock   = "keeper, err := prockeep.Open(ctx"
	guardBlock  = "procmgr.WrapHost("
	scriptBlock = "proctest.NewScript("
	tokenBlock  = "tokenOf(chatID)"

	loopAsItStands = "the loop as it stands"
)

var readmeRules = []rule{
	{page: "README.md", language: "console", has: "go get ", run: goGet},
	{
		page: "README.md", language: "go", has: firstBlock, run: firstCall,
		instead: map[string]string{"go test ./...": "echo it runs"},
		program: `func main() {
	ctx := context.Background()
BLOCK
	fmt.Println(len(tools), "tools")
}`,
	},
	{page: "README.md", language: "console", has: "go run ./examples/quickstart", run: stepsOfCI},
	{page: "README.md", has: "model   [...]", run: quickstartTranscript},
	{page: "docs/notifications.md", language: "text", has: "meanwhile: ", run: transcript},
	{page: "docs/output.md", language: "text", has: "ran again", run: transcript},
	{page: "docs/notifications.md", language: "text", has: "runs already", run: keptTranscript},
	{page: "README.md", language: "go", has: agentBlock, run: agent},
	{
		page: "docs/frameworks.md", language: "go", has: loopBlock, run: loop,
		files: map[string]string{"script.go": scriptedAsk},
		instead: map[string]string{
			`return Message{}, errors.New("ask your provider here")`: `return script(ctx, messages, tools, errors.New("the script is over"))`,
		},
		variants: map[string]map[string]string{
			loopAsItStands: {`return Message{}, errors.New("ask your provider here")`: `return Message{}, errors.New("ask your provider here")`},
		},
	},
	{
		page: "docs/remote.md", language: "go", has: clientBlock, run: client,
		instead: map[string]string{
			`"https://build.example:8443"`:  `os.Getenv("SERVER")`,
			`&tls.Config{RootCAs: trusted}`: `&tls.Config{RootCAs: trusted, ServerName: "build.example"}`,
		},
		program: `func main() {
	ctx := context.Background()
BLOCK
	fmt.Println(set.Call(ctx, toolset.Call{Name: "execute", Arguments: json.RawMessage(` + "`{\"command\":\"hostname\"}`" + `)}).Content)
}`,
	},
	{
		page: "docs/recipes.md", language: "go", has: keepBlock, run: kept,
		instead: map[string]string{`"/var/lib/agent/keeper"`: `os.Getenv("KEEPER")`},
		program: `func main() {
	ctx := context.Background()
BLOCK
	fmt.Println(set.Call(ctx, toolset.Call{Name: "execute", Arguments: json.RawMessage(os.Getenv("ARGUMENTS"))}).Report.State)
}`,
	},
	{page: "docs/recipes.md", language: "go", has: "OnOutput: func", run: inExamples("chattool/toolset/example_live_test.go"), elsewhere: true},
	{page: "docs/recipes.md", language: "go", has: "s.host, err = prockeep.Open(", run: inExamples("contrib/examples/webservice/main.go"), elsewhere: true},
	{page: "docs/durable.md", language: "console", has: "go run ./durable", run: durableCommands},
	{page: "docs/durable.md", language: "go", has: "StableID(", run: inExamples("chattool/toolset/example_once_test.go"), elsewhere: true},
	{
		page: "docs/recipes.md", language: "go", has: tokenBlock, run: chatToken,
		program: `func tokenOf(chat string) string { return "s3cr3t0f" + chat + "0123456789" }
func main() {
BLOCK
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Close()
	set, err := toolset.New(toolset.Static(manager.Chat("alice")), nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(set.Call(context.Background(), toolset.Call{Name: "execute", Arguments: json.RawMessage(os.Getenv("ARGUMENTS"))}).Output.Text)
}`,
	},
	{
		page: "docs/recipes.md", language: "go", has: guardBlock, run: guard,
		program: `BLOCK
func main() {
	local, err := proclocal.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer local.Close()
	set, err := guarded(local)
	if err != nil {
		log.Fatal(err)
	}
	id := ""
	for call := range strings.Lines(os.Getenv("CALLS")) {
		name, arguments, _ := strings.Cut(call, " ")
		arguments = strings.ReplaceAll(arguments, "ID", id)
		res := set.Call(context.Background(), toolset.Call{Name: name, Arguments: json.RawMessage(arguments)})
		if res.Report.ProcessID != "" {
			id = res.Report.ProcessID
		}
		fmt.Println(res.Content)
	}
}`,
	},
	{
		page: "docs/recipes.md", language: "go", has: scriptBlock, run: agentTest,
		program: `BLOCK
func agent(ctx context.Context, set *toolset.Set) {
	for range 3 {
		res := set.Call(ctx, toolset.Call{Name: "execute", Arguments: json.RawMessage(` + "`{\"command\":\"make test\",\"timeout\":\"2h\"}`" + `)})
		if res.Report.ExitCode != nil && *res.Report.ExitCode == 0 {
			return
		}
	}
}

func main() {
	tests := []testing.InternalTest{{Name: "TestAgent", F: TestAgent}}
	testing.Main(func(string, string) (bool, error) { return true, nil }, tests, nil, nil)
}`,
	},
	{page: "docs/remote.md", language: "console", has: keysBlock, run: serving},
}

// agentTest runs the test of an agent.
func agentTest(t *testing.T, p *pages, _ block) {
	program := start(t, t.TempDir(), nil, p.programs[scriptBlock])
	require.Zero(t, program.end(t), "%s %s", &program.out, &program.err)
	require.Equal(t, "PASS\n", program.out.String())
}

// chatToken prints the token of a chat, and how long it is.
func chatToken(t *testing.T, p *pages, _ block) {
	program := start(t, t.TempDir(), []string{`ARGUMENTS={"command":"echo $GITHUB_TOKEN ${#GITHUB_TOKEN}"}`}, p.programs[tokenBlock])
	require.Zero(t, program.end(t), &program.err)
	require.Equal(t, "[withheld: GITHUB_TOKEN] 23\n\n", program.out.String())
}

// goGet names the module of the page's directory.
func goGet(t *testing.T, _ *pages, b block) {
	dir := path.Dir(b.page)
	module := path.Join(library, dir)
	require.Equal(t, []string{"go get " + module}, commands(t, b))
	require.Contains(t, read(t, path.Join(dir, "go.mod")), "module "+module+"\n")
}

// firstCall runs the block at the top of the page.
func firstCall(t *testing.T, p *pages, _ block) {
	program := start(t, t.TempDir(), nil, p.programs[firstBlock])
	require.Zero(t, program.end(t), &program.err)
	require.Regexp(t, `^{.*"output":"it runs\\n".*\n4 tools\n$`, program.out.String())
}

// kept runs the program twice: the second run finds the process of the first one.
func kept(t *testing.T, p *pages, _ block) {
	dir, err := os.MkdirTemp("", "k") //nolint:usetesting // the name of t.TempDir is too long for a socket in it
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	for range 2 {
		cmd := exec.CommandContext(t.Context(), p.programs[keepBlock])
		cmd.Env = append(os.Environ(), "KEEPER="+dir, `ARGUMENTS={"command":"exec sleep 1000","run_in_background":true}`)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, "running\n", string(out))
	}
	k, err := prockeep.Find(t.Context(), dir)
	require.NoError(t, err)
	page, err := k.Chat("chat-1").List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	require.Equal(t, 2, page.Live, "both go on")
	require.NoError(t, k.Stop(t.Context()))
}

// guard tries to get past the guard, by a command and by what is typed into one.
func guard(t *testing.T, p *pages, _ block) {
	calls := `execute {"command":"git push"}
execute {"command":"cat","run_in_background":true,"stdin":"open"}
process_input {"process_id":"ID","text":"git push\n"}
process_input {"process_id":"ID","text":"it runs\n","end":true}
process_list {}
`
	program := start(t, t.TempDir(), []string{"CALLS=" + calls}, p.programs[guardBlock])
	require.Zero(t, program.end(t), &program.err)
	said := strings.Split(program.out.String(), "\n")
	require.Contains(t, said[0], "only a person pushes; say what is to be pushed")
	require.Contains(t, said[1], `"state":"running"`)
	require.Contains(t, said[2], "only a person pushes; say what is to be pushed")
	require.Contains(t, said[3], `"output":"it runs\n"`)
	require.Contains(t, said[4], `"command":"cat"`)
	require.NotContains(t, said[4], "git push")
}

// stepsOfCI looks for commands that take long in .ci/run.
func stepsOfCI(t *testing.T, _ *pages, b block) {
	for _, command := range commands(t, b) {
		command, _, _ = strings.Cut(command, " #")
		require.Contains(t, read(t, ".ci/run"), strings.TrimSpace(command), "no step of .ci/run runs it")
	}
}

// durableCommands checks that the program itself names the commands.
func durableCommands(t *testing.T, _ *pages, b block) {
	usage := read(t, "contrib/examples/durable/main.go")
	for _, command := range commands(t, b) {
		words := strings.Fields(command)
		require.Equal(t, []string{"go", "run", "./durable"}, words[:3])
		require.Contains(t, usage, "//\tdurable "+words[3]+" SOCKET")
	}
}

// commands returns the lines that a reader types, which stand behind "$ ".
func commands(t *testing.T, b block) []string {
	t.Helper()
	var all []string
	for line := range strings.Lines(b.text) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			all = append(all, strings.TrimSpace(command))
		}
	}
	require.NotEmpty(t, all)
	return all
}

// keptTranscript compares a block with what a test of examples/agent has made.
// Ids differ.
func keptTranscript(t *testing.T, _ *pages, b block) {
	require.Contains(t, read(t, "examples/agent/testdata/keep.txt"), strings.ReplaceAll(b.text, "nkyft2dmrn", "npc5orns6a"))
}

// quickstartTranscript compares an excerpt with the transcript that
// quickstart's own test keeps. "[...]" stands for the parts that the excerpt
// leaves out.
func quickstartTranscript(t *testing.T, _ *pages, b block) {
	plain := func(text string) string {
		for _, variable := range []string{`<process \d+>`, `\b[a-z2-7]{10}\b`} {
			text = regexp.MustCompile(variable).ReplaceAllStringFunc(text, func(id string) string {
				if id[0] == '<' || strings.ContainsAny(id, "234567") {
					return "ID"
				}
				return id // a word
			})
		}
		return strings.Join(strings.Fields(text), " ")
	}
	rest := plain(read(t, "examples/quickstart/testdata/transcript.txt"))
	for _, part := range strings.Split(plain(b.text), "[...]") {
		part = strings.TrimSpace(part)
		_, after, found := strings.Cut(rest, part)
		require.True(t, found, "quickstart does not print %q, or not there", part)
		rest = after
	}
}

// agent runs the agent with a scripted endpoint as its model, whose calls have the
// prompts as their arguments.
func agent(t *testing.T, p *pages, _ block) {
	begin := func(t *testing.T, dir string, cut string) (*program, *os.File) {
		stdin, prompts, err := os.Pipe()
		require.NoError(t, err)
		t.Cleanup(func() { stdin.Close(); prompts.Close() })
		env := []string{"OPENAI_API_KEY=the-key", "OPENAI_BASE_URL=" + endpoint(t, cut)}
		return startWith(t, dir, env, stdin, p.programs[agentBlock]), prompts
	}
	ask := func(t *testing.T, prompts *os.File, arguments map[string]any) {
		_, err := prompts.WriteString(encode(arguments) + "\n")
		require.NoError(t, err)
	}
	t.Run("answers", func(t *testing.T) {
		program, prompts := begin(t, t.TempDir(), "")
		ask(t, prompts, map[string]any{"command": "echo it runs"})
		awaitOutput(t, program, "The tool says: ")
		require.NoError(t, prompts.Close())
		require.Zero(t, program.end(t), &program.err)
		require.Regexp(t, `^I run it.\n(?s:it runs\n.*|.*)The tool says: .*"output":"it runs\\n"`, program.out.String())
	})
	t.Run("runs no half of a command", func(t *testing.T) {
		dir := t.TempDir()
		program, prompts := begin(t, dir, `{"command":"echo half > half`)
		ask(t, prompts, nil)
		awaitOutput(t, program, "The tool says: ")
		require.NoError(t, prompts.Close())
		require.Zero(t, program.end(t), &program.err)
		require.NoFileExists(t, filepath.Join(dir, "half"))
	})
	t.Run("stops a turn", func(t *testing.T) {
		dir := t.TempDir()
		server, command := newReporter(t, t.TempDir()), newReporter(t, t.TempDir())
		program, prompts := begin(t, dir, "")
		ask(t, prompts, map[string]any{"command": server.command(), "run_in_background": true})
		pid := server.pid(t)
		awaitOutput(t, program, "The tool says: ")
		ask(t, prompts, map[string]any{"command": "echo begun; " + command.command(), "timeout": "10m"})
		stopped := command.pid(t)
		awaitOutput(t, program, "begun")
		require.NoError(t, program.Process.Signal(os.Interrupt))
		awaitOutput(t, program, "\nstopped\n")
		requireGone(t, stopped)
		require.NoError(t, syscall.Kill(pid, 0), "the server of an earlier turn lives on")
		ask(t, prompts, map[string]any{"command": "echo a third turn"})
		awaitOutput(t, program, "a third turn")
		require.NoError(t, prompts.Close())
		require.Zero(t, program.end(t), &program.err)
		requireGone(t, pid)
	})
	interrupted(t, func(t *testing.T, dir, command string) *program {
		program, prompts := begin(t, dir, "")
		ask(t, prompts, map[string]any{"command": command, "timeout": "10m"})
		return program
	}, syscall.SIGTERM, syscall.SIGHUP)
}

// interrupted sends each signal that ends a program to a program whose command
// is running. Only that process gets the signal, as with Ctrl-C in a terminal.
// The command must end nevertheless.
func interrupted(t *testing.T, run func(t *testing.T, dir, command string) *program, signals ...syscall.Signal) {
	for _, sig := range signals {
		t.Run(sig.String(), func(t *testing.T) {
			dir := t.TempDir()
			reporter := newReporter(t, dir)
			program := run(t, dir, reporter.command())
			pid := reporter.pid(t)
			require.NoError(t, program.Process.Signal(sig))
			require.Equal(t, 1, program.end(t))
			require.Contains(t, program.err.String(), "context canceled")
			requireGone(t, pid)
		})
	}
}

// endpoint streams chat completions as OpenAI does. Its model calls execute with the
// arguments that the user has sent, or with cut, and then repeats what the tool says.
func endpoint(t *testing.T, cut string) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Stream   bool
			Messages []struct {
				Role    string
				Content any
			}
			Tools []struct{ Function struct{ Name string } }
		}
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &req); err != nil || r.URL.Path != "/chat/completions" || !req.Stream ||
			r.Header.Get("Authorization") != "Bearer the-key" || len(req.Messages) == 0 || len(req.Tools) != 4 {
			http.Error(w, fmt.Sprintf("unexpected request %s: %v\n%s", r.URL, err, body), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		event := func(delta map[string]any, finish any) {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", encode(map[string]any{
				"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "script",
				"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
			}))
		}
		finish, arguments := "stop", cut
		if last := req.Messages[len(req.Messages)-1]; last.Role == "tool" {
			event(map[string]any{"role": "assistant", "content": fmt.Sprint("The tool says: ", last.Content)}, nil)
		} else {
			if cut == "" {
				arguments = fmt.Sprint(last.Content)
			}
			event(map[string]any{"role": "assistant", "content": "I run it."}, nil)
			event(map[string]any{"tool_calls": []any{map[string]any{
				"index": 0, "id": "call_0", "type": "function",
				"function": map[string]any{"name": req.Tools[0].Function.Name, "arguments": arguments},
			}}}, nil)
			finish = "tool_calls"
		}
		event(map[string]any{}, finish)
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // of maps and strings
	}
	return string(text)
}

// scriptedAsk is the provider of the loop. Its model acts like the one of endpoint.
const scriptedAsk = `package main

import (
	"context"
	"encoding/json"
	"os"

	"github.com/toolproc/toolproc/chattool/toolset"
)

func script(ctx context.Context, messages []Message, tools []Tool, over error) (Message, error) {
	if err := ctx.Err(); err != nil {
		return Message{}, err
	}
	switch last := messages[len(messages)-1]; {
	case last.Role == "tool" && last.CallID == "call_0" && !last.IsError:
		return Message{Role: "assistant", Content: "The tool says: " + last.Content}, nil
	case last.Role == "user" && len(tools) == 4 && json.Valid(tools[0].Schema):
		arguments, err := json.Marshal(map[string]string{"command": os.Getenv("COMMAND"), "timeout": "10m"})
		return Message{Role: "assistant", Calls: []toolset.Call{{ID: "call_0", Name: tools[0].Name, Arguments: arguments}}}, err
	}
	return Message{}, over
}
`

// loop runs the loop twice: with a scripted provider, and unchanged, without
// one.
func loop(t *testing.T, p *pages, _ block) {
	run := func(t *testing.T, dir, command string) *program {
		return start(t, dir, []string{"COMMAND=" + command}, p.programs[loopBlock])
	}
	t.Run("answers", func(t *testing.T) {
		program := run(t, t.TempDir(), "echo it runs")
		require.Zero(t, program.end(t), &program.err)
		require.Regexp(t, `^The tool says: .*"output":"it runs\\n".*\n$`, program.out.String())
	})
	t.Run("as it stands", func(t *testing.T) {
		program := start(t, t.TempDir(), nil, p.programs[loopAsItStands])
		require.Equal(t, 1, program.end(t))
		require.Contains(t, program.err.String(), "ask your provider here")
	})
	interrupted(t, run, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
}
