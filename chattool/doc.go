// Package chattool makes the tools of package toolset agent tools of
// charm.land/fantasy: execute, process_output, process_list, process_signal
// and, with [toolset.Options].Input, process_input.
//
// [ToolsOf] does the same for the tools of another set in the shape of toolset's, such as
// read_file, write_file and edit_files of contrib/filetool.
//
// The documentation of package toolset describes the tools, their arguments and
// their results. This package adds what fantasy requires of a tool:
//
//   - Run never returns a Go error. fantasy takes such an error for critical and
//     drops the step, with the results of all its calls. A host that then
//     retries would run commands twice. So the response says what went wrong.
//     IsError is set if the tool itself could not do what the model asked for.
//   - Run never panics.
//   - The metadata of a response names the process, for a user interface:
//     {"process_id":"…","state":"running","exit_code":0}. exit_code is absent
//     while it is not known. If no process is known, the metadata is empty.
//   - process_output and process_list are Parallel. execute, process_signal and
//     process_input are not, because two of them in one step may depend on their order.
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
// The result of a call tells which background processes have ended since; see
// package toolset. A host that may lose nothing, or that wakes an idle model,
// uses a [toolset.Inbox] instead, and [PrepareStep].
//
// fantasy tells a provider the properties of a tool and which of them are
// required. It does not tell the provider that there are no others. The tools
// refuse unknown arguments all the same.
//
// Provider options may be set while an agent uses a tool. The [toolset.Resolver]
// gets the context of the step, so a host may name the chat there.
//
// To test a host against the tools, give them a fake [procmgr.Manager], and
// give the agent a scripted [fantasy.LanguageModel].
package chattool
