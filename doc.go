// Package toolproc is the landing page of a library that lets a language model
// run commands. The package itself has no code.
//
// A model gets four tools: execute, process_output, process_list and
// process_signal. A process manager stands behind them. It promises that a
// model never loses a process, never runs one twice, never reads a wrong
// result, and never drowns in output.
//
// Start at the package that fits your program:
//
//   - [github.com/toolproc/toolproc/chattool]: the tools for an agent built on
//     charm.land/fantasy.
//   - [github.com/toolproc/toolproc/chattool/toolset]: the same tools for any
//     other loop: definitions, JSON schemas and one Call method.
//   - [github.com/toolproc/toolproc/procmgr]: the interface of a process
//     manager, to call one or to implement one of your own.
//   - [github.com/toolproc/toolproc/procmgr/proclocal]: processes on this
//     machine, in this program.
//   - [github.com/toolproc/toolproc/procmgr/prochttp]: processes on another
//     machine, over HTTP or a unix socket.
//   - [github.com/toolproc/toolproc/procmgr/prockeep]: processes that outlive
//     the program.
//   - [github.com/toolproc/toolproc/procmgr/procroute]: many machines as one.
//   - [github.com/toolproc/toolproc/procmgr/proctest]: the test suite for a
//     manager of your own.
//   - [github.com/toolproc/toolproc/headtail]: the beginning and the end of a
//     byte stream in bounded memory. Its package plaintext removes the bytes
//     that only a terminal understands.
//   - [github.com/toolproc/toolproc/envpolicy]: the environment that a child
//     gets.
//
// The folder contrib of the repository has more, each part a module of its own:
// facts about shell commands and a policy over them, a sandbox, a page for a
// person, OpenTelemetry, machines that dial out to NATS, an MCP server, an agent
// for editors, and programs on other libraries.
//
// toolproc is no sandbox. A command has the rights of the user that it runs as.
package toolproc
