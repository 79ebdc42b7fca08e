// Package chattool makes the tools of package toolset agent tools of
// charm.land/fantasy: execute, process_output, process_list and
// process_signal.
//
// What the tools do, what they take and what their results say is told in the
// documentation of package toolset. This package adds what fantasy asks of a
// tool:
//
//   - Run never returns a Go error. fantasy takes one for critical and drops
//     the step, with the results of all its calls; a host that then retries
//     would run commands twice. What goes wrong is in the response, and
//     IsError is set where the tool itself could not do what it was asked to.
//   - Run never panics.
//   - The metadata of a response names the process, for a user interface:
//     {"process_id":"…","state":"running","exit_code":0}, with exit_code
//     absent while it is not known. It is empty where no process is known.
//   - process_output and process_list are Parallel; execute and process_signal
//     are not, since two of them in one step may depend on their order.
//
// # What a host has to do
//
// fantasy repairs the arguments of a call that are no JSON, by default, and an
// answer that was cut may end within a command: half of a command is another
// command, and it would run. Give [NoRepair] to [fantasy.WithRepairToolCall],
// and for Stream to [fantasy.AgentStreamCall], which does not look at the
// agent's.
//
// A turn whose provider fails for good returns an error, and none of its steps.
// A host that goes on from the prompt runs their commands again; keep what
// OnStepFinish tells of each step, and go on from there.
//
// fantasy tells a provider the properties of a tool and which are required, and
// not that there are no others. The tools refuse arguments that they do not
// have all the same.
//
// Provider options may be set while an agent uses a tool. A step's context is
// passed on to the [toolset.Resolver], so a host may name the chat there.
//
// To test a host against the tools, give them a fake [procmgr.Manager], and
// the agent a scripted [fantasy.LanguageModel].
package chattool
