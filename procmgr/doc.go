// Package procmgr is the contract of a process manager: the interfaces [Manager]
// and [Host], their requests and answers, and their errors. It runs nothing itself.
// A Manager starts a command in a shell, collects its output in bounded memory,
// tells its state, and ends it together with everything that it started.
//
// These packages give a Host, and each says when to take the next one:
//
//   - proclocal runs commands on this machine, in this program.
//   - prockeep keeps processes while programs come and go.
//   - prochttp reaches a Host on another machine.
//   - procroute makes one Host of many machines.
//   - procnats, a module of its own, reaches machines that dial out to NATS.
//
// To run commands in another place, implement Host, and test it with package
// proctest. To guard a Host, or to change it, wrap it with [WrapHost].
//
// # The life of a process
//
// A process is everything that one command started. Its leader is the command's
// shell. The process is [Running] until its leader exits. The exit code is the
// leader's, taken at that moment. If the leader has left other processes behind,
// as in "server & sleep 1; curl …", the process is then [Detached]: the rest
// keeps running, its output is still collected, and Signal still reaches it.
// When nothing is left, the process is [Exited]. Its record and its output are
// kept for a while after that. Then a small tombstone still answers with the
// state and the exit code.
//
// [Manager].Events tells of starts and ends without asking for each process, and
// [Follow] yields the output of a process while it runs.
//
// # Chats
//
// Host.Chat gives each chat a Manager that sees only the processes of that chat.
// This isolation is the interface's, not the system's: the commands of two chats
// run as one user, and can read each other's files and /proc.
package procmgr
