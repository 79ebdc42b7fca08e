package procotel_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/procotel"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A collector gets the spans of several programs.
type collector struct{ *tracetest.InMemoryExporter }

func newCollector() collector { return collector{tracetest.NewInMemoryExporter()} }

// called returns the spans of a name from one program.
func (c collector) called(service, name string) (all tracetest.SpanStubs) {
	for _, s := range c.GetSpans() {
		if s.Name == name && s.Resource.Equal(resourceOf(service)) {
			all = append(all, s)
		}
	}
	return all
}

// processes returns the spans of processes from one program, which are named after the
// shell.
func (c collector) processes(service string) tracetest.SpanStubs {
	shell := "bash"
	if _, err := exec.LookPath(shell); err != nil {
		shell = "sh"
	}
	return c.called(service, shell)
}

// text is all that the spans have.
func (c collector) text() string { return fmt.Sprintf("%+v", c.GetSpans()) }

func attributesOf(s tracetest.SpanStub) map[string]any {
	all := make(map[string]any)
	for _, a := range s.Attributes {
		all[string(a.Key)] = a.Value.AsInterface()
	}
	return all
}

func resourceOf(service string) *resource.Resource {
	return resource.NewSchemaless(attribute.String("service.name", service))
}

// program returns a Telemetry that sends its spans to a collector as a program would, and
// what sends them.
func program(t *testing.T, c collector, name string, opts procotel.Options) (*procotel.Telemetry, *sdktrace.TracerProvider) {
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(c), sdktrace.WithResource(resourceOf(name)))
	opts.TracerProvider = provider
	telemetry, err := procotel.New(&opts)
	require.NoError(t, err)
	t.Cleanup(telemetry.Close)
	return telemetry, provider
}

// machine serves a manager with telemetry over HTTP, and returns it and its URL.
func machine(t *testing.T, telemetry *procotel.Telemetry) (*proclocal.Local, string) {
	local, err := proclocal.New(&proclocal.Options{Metrics: telemetry.LocalMetrics()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = local.Close() })
	handler, err := prochttp.NewHandler(telemetry.Host(local), &prochttp.HandlerOptions{Token: "t"})
	require.NoError(t, err)
	server := httptest.NewServer(procotel.Handler(handler))
	t.Cleanup(server.Close)
	return local, server.URL
}

const secret = "sesame-7341"

// The spans of one chat, whose commands run on another machine, are one trace. What a
// command is, and what it prints, is in none of them.
func TestOneTraceOverTwoMachines(t *testing.T) {
	t.Parallel()
	r := newCollector()
	there, _ := program(t, r, "machine", procotel.Options{})
	local, url := machine(t, there)
	here, agent := program(t, r, "agent", procotel.Options{})
	client, err := prochttp.NewClient(url, &prochttp.ClientOptions{Token: "t", Inject: procotel.Inject})
	require.NoError(t, err)
	defer func() { _ = client.Close() }()
	set, err := toolset.New(toolset.Static(client.Chat("chat 1")), &toolset.Options{Intercept: here.Call})
	require.NoError(t, err)

	ctx, turn := agent.Tracer("test").Start(t.Context(), "turn")
	call := func(command string, background bool) toolset.Result {
		args, err := json.Marshal(map[string]any{"command": command, "run_in_background": background})
		require.NoError(t, err)
		return set.Call(ctx, toolset.Call{ID: "call_1", Name: "execute", Arguments: args})
	}
	// Its shell exits at once, and something is left for a moment.
	res := call("echo $TRACEPARENT; echo "+secret+"; (sleep 0.3; echo late) & exit 3", false)
	require.False(t, res.IsError, res.Content)
	first := *res.Output
	res = call("exec sleep 1000 # "+secret, true)
	require.False(t, res.IsError, res.Content)
	turn.End()
	require.Eventually(t, func() bool { return len(r.processes("machine")) == 1 }, 30*time.Second, time.Millisecond, "the first one ends by itself")
	require.NoError(t, local.Close()) // which ends the second one
	there.Close()

	tools := r.called("agent", "execute_tool execute")
	require.Len(t, tools, 2)
	processes := r.processes("machine")
	require.Len(t, processes, 2)
	require.Len(t, r.called("agent", "turn"), 1)
	id := turn.SpanContext().TraceID()
	for i, s := range slices.Concat(tools, processes) {
		require.Equal(t, id, s.SpanContext.TraceID(), "span %d", i)
	}
	require.Equal(t, turn.SpanContext().SpanID(), tools[0].Parent.SpanID())
	require.Equal(t, tools[0].SpanContext.SpanID(), processes[0].Parent.SpanID())
	require.Equal(t, tools[1].SpanContext.SpanID(), processes[1].Parent.SpanID())

	// The command knows the span of its process.
	printed, _, _ := strings.Cut(first.Text, "\n")
	require.Equal(t, fmt.Sprintf("00-%s-%s-01", id, processes[0].SpanContext.SpanID()), printed)

	require.Equal(t, map[string]any{
		"gen_ai.operation.name": "execute_tool", "gen_ai.tool.type": "function", "gen_ai.tool.call.id": "call_1", "gen_ai.tool.name": "execute",
		"gen_ai.conversation.id": "chat 1", "toolproc.process.id": first.Process.ID, "toolproc.process.state": string(first.Process.State),
		"process.pid": int64(first.Process.PID), "process.exit.code": int64(3), "toolproc.process.ended_by": "exit",
	}, attributesOf(tools[0]))
	require.Equal(t, map[string]any{
		"gen_ai.conversation.id": "chat 1", "toolproc.process.id": first.Process.ID, "toolproc.process.state": "exited",
		"process.pid": int64(first.Process.PID), "process.exit.code": int64(3), "toolproc.process.ended_by": "exit",
		"process.executable.name": processes[0].Name, "error.type": "3",
		"toolproc.output.bytes": int64(len(printed) + len(secret) + len("late") + 3),
	}, attributesOf(processes[0]))
	require.Equal(t, trace.SpanKindClient, processes[0].SpanKind)
	require.Len(t, processes[0].Events, 1)
	require.Equal(t, "detached", processes[0].Events[0].Name)
	require.Greater(t, processes[0].EndTime.Sub(processes[0].StartTime), 250*time.Millisecond)
	require.Equal(t, "shutdown", attributesOf(processes[1])["toolproc.process.ended_by"])

	for _, hidden := range []string{secret, "sleep", "echo", "late"} {
		require.NotContains(t, r.text(), hidden)
	}
}

// What starts nothing, or nothing new, makes no span of a process that never was.
func TestRefusedAndAttached(t *testing.T) {
	t.Parallel()
	r := newCollector()
	telemetry, provider := program(t, r, "p", procotel.Options{Commands: true})
	local, err := proclocal.New(&proclocal.Options{MaxRunning: 1})
	require.NoError(t, err)
	chat := telemetry.Host(local).Chat("c")

	start := func(req procmgr.StartRequest) (procmgr.Output, error) {
		ctx, span := provider.Tracer("test").Start(t.Context(), "step") // another one at each time
		defer span.End()
		return chat.Start(ctx, req)
	}
	req := procmgr.StartRequest{ID: "a", Command: "exec sleep 1000", Env: map[string]string{"A": "1"}}
	_, err = start(req)
	require.NoError(t, err)
	out, err := start(req)
	require.NoError(t, err, "the trace context is no part of what an ID is for")
	require.True(t, out.Attached)
	require.Equal(t, map[string]string{"A": "1"}, req.Env, "the caller's own")
	_, err = start(procmgr.StartRequest{ID: "b", Command: "echo " + secret})
	require.ErrorIs(t, err, procmgr.ErrLimit)
	require.NoError(t, chat.Signal(t.Context(), "a", procmgr.Kill))
	require.NoError(t, local.Close())
	telemetry.Close()

	all := r.processes("p")
	require.Len(t, all, 2)
	require.Equal(t, "limit", attributesOf(all[0])["error.type"])
	require.Equal(t, codes.Error, all[0].Status.Code)
	require.Equal(t, "request", attributesOf(all[1])["toolproc.process.ended_by"])
	require.Equal(t, "SIGKILL", attributesOf(all[1])["toolproc.process.signal"])
	require.Equal(t, "exec sleep 1000", attributesOf(all[1])["process.command_line"])
}

// The span of a process has an error.type if its exit code is not 0, and an error unless it
// was ended on request.
func TestKilled(t *testing.T) {
	t.Parallel()
	r := newCollector()
	telemetry, _ := program(t, r, "p", procotel.Options{})
	local, err := proclocal.New(nil)
	require.NoError(t, err)
	host := telemetry.Host(local)
	for id, command := range map[string]string{"killed": "kill -KILL $$", "segv": "kill -SEGV $$", "asked": "exec sleep 1000", "exit": "exit 3", "well": "true", "shutdown": "exec sleep 1000"} {
		_, err := host.Start(t.Context(), procmgr.StartRequest{ID: id, Command: command})
		require.NoError(t, err)
	}
	require.NoError(t, host.Signal(t.Context(), "asked", procmgr.Kill))
	for _, id := range []string{"killed", "segv", "exit", "well"} {
		for state := procmgr.Running; state != procmgr.Exited; {
			out, err := host.Output(t.Context(), id, procmgr.OutputRequest{Wait: time.Minute})
			require.NoError(t, err)
			state = out.Process.State
		}
	}
	require.NoError(t, local.Close())
	telemetry.Close()
	all := r.processes("p")
	require.Len(t, all, 6)
	for _, s := range all {
		attributes := attributesOf(s)
		id := attributes["toolproc.process.id"].(string)
		want := map[string]any{"killed": "SIGKILL", "segv": "SIGSEGV", "asked": "SIGKILL", "shutdown": "SIGTERM", "exit": "3"}[id]
		require.Equal(t, want, attributes["error.type"], id)
		require.Equal(t, want != nil && id != "asked" && id != "shutdown", s.Status.Code == codes.Error, id)
	}
}

// A process that outlives its telemetry has a span that says so.
func TestCloseWhileItRuns(t *testing.T) {
	t.Parallel()
	r := newCollector()
	telemetry, _ := program(t, r, "p", procotel.Options{})
	local, err := proclocal.New(nil)
	require.NoError(t, err)
	defer func() { _ = local.Close() }()
	host := telemetry.Host(local)
	for _, id := range []string{"before", "after"} {
		_, err = host.Start(t.Context(), procmgr.StartRequest{ID: id, Command: "exec sleep 1000"})
		require.NoError(t, err)
		telemetry.Close()
	}
	all := r.processes("p")
	require.Len(t, all, 2)
	for _, s := range all {
		require.Equal(t, "closed", attributesOf(s)["toolproc.unfinished"])
		require.Equal(t, "running", attributesOf(s)["toolproc.process.state"])
	}
}

// A tool that cannot do its work has an error, and a model cannot flood a backend with names.
func TestToolErrors(t *testing.T) {
	t.Parallel()
	r := newCollector()
	telemetry, _ := program(t, r, "p", procotel.Options{})
	local, err := proclocal.New(nil)
	require.NoError(t, err)
	defer func() { _ = local.Close() }()
	set, err := toolset.New(toolset.Static(local), &toolset.Options{Intercept: telemetry.Call})
	require.NoError(t, err)
	require.True(t, set.Call(t.Context(), toolset.Call{Name: strings.Repeat("x", 1000) + "\xff"}).IsError)
	require.True(t, set.Call(t.Context(), toolset.Call{Name: "process_output", Arguments: []byte(`{"process_id":"nobody"}`)}).IsError)
	require.False(t, set.Call(t.Context(), toolset.Call{Name: "execute", Arguments: []byte(`{"command":"exit 1"}`)}).IsError)

	require.Len(t, r.called("p", "execute_tool "+strings.Repeat("x", 64)), 1)
	failed := r.called("p", "execute_tool process_output")
	require.Len(t, failed, 1)
	require.Equal(t, "tool_error", attributesOf(failed[0])["error.type"])
	well := r.called("p", "execute_tool execute")
	require.Len(t, well, 1)
	require.Equal(t, codes.Unset, well[0].Status.Code)
}

// With Content, a span has what the model has sent and read, without this program's
// secrets.
func TestContent(t *testing.T) {
	const value = "zwrHqMpkTgUzcVwdPfLs8x2n"
	t.Setenv("API_TOKEN", value)
	for _, content := range []bool{false, true} {
		r := newCollector()
		telemetry, _ := program(t, r, "p", procotel.Options{Content: content})
		local, err := proclocal.New(nil)
		require.NoError(t, err)
		set, err := toolset.New(toolset.Static(local), &toolset.Options{Intercept: telemetry.Call})
		require.NoError(t, err)
		set.Call(t.Context(), toolset.Call{Name: "execute", Arguments: json.RawMessage(`{"command":"echo hi ` + value + `"}`)})
		require.NoError(t, local.Close())
		telemetry.Tools([]toolset.Definition{{Name: "process_list", Description: "Lists."}})
		set.Call(t.Context(), toolset.Call{Name: "process_list"})
		require.Equal(t, "Lists.", attributesOf(r.called("p", "execute_tool process_list")[0])["gen_ai.tool.description"])
		got := attributesOf(r.called("p", "execute_tool execute")[0])
		require.NotContains(t, r.text(), value)
		if content {
			require.Equal(t, `{"command":"echo hi [withheld: API_TOKEN]"}`, got["gen_ai.tool.call.arguments"])
			require.Contains(t, got["gen_ai.tool.call.result"], `hi [withheld: API_TOKEN]`)
		} else {
			require.NotContains(t, got, "gen_ai.tool.call.arguments")
			require.NotContains(t, r.text(), "echo")
		}
	}
}
