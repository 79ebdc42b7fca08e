// Package chattool makes the tools of package toolset agent tools of
// charm.land/fantasy. The documentation of package toolset describes the tools, their
// arguments and their results. This package adds what fantasy requires of a tool:
//
//   - Run never panics and never returns a Go error, for which fantasy would drop the
//     step with the results of all its calls. A host that then retries would run
//     commands twice. So the response says what went wrong, and IsError is set if the
//     tool itself could not do what the model asked for.
//   - The metadata of a response names the process, for a user interface:
//     {"process_id":"…","state":"running","exit_code":0}. exit_code is absent
//     while it is not known. If no process is known, the metadata is empty.
//   - process_output and process_list are Parallel. The others are not, because two of
//     them in one step may depend on their order.
//
// # What a host has to do
//
// Make the agent with [NewAgent] rather than [fantasy.NewAgent]. fantasy completes
// the arguments of a call that was cut off, and would run half of a command.
//
// If a provider fails for good, the turn returns an error and none of its
// steps. A host that then starts again from the prompt runs the commands of
// those steps again. So keep each step that OnStepFinish reports, and go on
// from there.
//
// A host that may lose no notice of a background process that has ended, or that wakes
// an idle model, uses a [toolset.Inbox]. Before each step it adds the text of
// [toolset.Inbox.Pending] to its history, in a function for [fantasy.WithPrepareStep].
//
// Provider options may be set while an agent uses a tool. The [toolset.Resolver]
// gets the context of the step, so a host may name the chat there.
package chattool
