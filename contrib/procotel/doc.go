// Package procotel instruments the tools and processes of toolproc with OpenTelemetry:
// a span for each tool call, a span for each process, and metrics. It is a module of
// its own, so that a program without it does not depend on OpenTelemetry.
//
//	telemetry, err := procotel.New(nil) // the global providers
//	manager, err := proclocal.New(&proclocal.Options{Metrics: telemetry.LocalMetrics()})
//	host := telemetry.Host(manager)
//	set, err := toolset.New(toolset.Static(host.Chat("c1")), &toolset.Options{Intercept: telemetry.Call})
//	…
//	manager.Close()
//	telemetry.Close() // then shut the providers down
//
// # Spans
//
// [Telemetry.Call] makes the span of a call, by the semantic conventions for generative
// AI: its name is "execute_tool execute", and its attributes begin with gen_ai. The host's
// own spans, such as one for a model's answer, are its parents if they are in the
// context.
//
// [Telemetry.Host] makes a span for each process that a Start begins, by the conventions
// for clients of command-line programs: its kind is CLIENT, and it is named after the
// program that runs the command, such as bash, because a model chooses the command. A
// sampler sees it as "shell", because the name is asked for after the start, so as not to
// delay it. Its parent is the span in the context of that Start. It begins and ends with the
// process, often long after the call has ended. It has an event "detached" when the
// command's shell has exited and other processes live on. If the exit code is not 0, it
// has an error.type, and its status is an error unless the process was ended on request
// or with the manager. A Start that is refused is a span that ends at once, with an
// error. A Start that finds its process by the ID makes none. If the program dies, the
// spans of living processes are lost with it.
//
// # One trace over several machines
//
// The trace context is propagated between programs in the header traceparent of W3C
// Trace Context:
//
//	client, err := prochttp.NewClient(url, &prochttp.ClientOptions{Inject: procotel.Inject}) // here
//	err := http.Serve(listener, procotel.Handler(handler))                                   // there
//
// A request over NATS has the same header, so [Handler] goes around the handler that
// procnats.Serve serves. Put Host around the manager of the machine that runs the
// commands, behind the handler, or around the client. A command finds the context
// in its variables TRACEPARENT and TRACESTATE, so that a build or a test with
// OpenTelemetry continues the trace. These two variables are not compared when an ID is
// used again.
//
// # Attributes
//
// Both kinds of spans have toolproc.process.id, toolproc.process.state (running, detached
// or exited), gen_ai.conversation.id, which is the chat's, process.pid, process.exit.code,
// toolproc.process.signal, toolproc.process.ended_by (a [procmgr.Cause]),
// toolproc.process.oom and toolproc.process.background, each if it is known. The span of a
// call also has gen_ai.tool.description, if [Telemetry.Tools] was called. The span of a
// process also has process.executable.name, and toolproc.output.bytes, the number of
// bytes printed. toolproc.unfinished says that Close came before the end. error.type is
// tool_error, the signal that ended a process, its exit code, oom, lost, or the kind of a
// refusal: limit, invalid, conflict, closed, refused, not_ready, unknown, unsupported,
// canceled, timeout or other.
//
// # Metrics
//
// [Telemetry.Call] has gen_ai.execute_tool.duration in seconds by gen_ai.tool.name, which
// is _OTHER for a tool that is not known.
// [Telemetry.Host] has, of what is started through it, toolproc.process.starts,
// toolproc.process.refusals by reason and toolproc.process.duration in seconds by
// ended_by. It also has toolproc.process.living by state, toolproc.wait.duration in
// seconds of each call that may wait, toolproc.output.omitted, the bytes left out of
// answers, and toolproc.kill.survived, the kills that left something alive.
// [Telemetry.LocalMetrics] has toolproc.output in bytes.
//
// # Privacy
//
// No span and no metric has a command, its output, its directory, the value of a
// variable, or the text of an error, which may quote them. [Options.Commands] adds the
// command, and [Options.Content] the arguments and the results of calls.
package procotel
