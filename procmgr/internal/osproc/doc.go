// Package osproc runs a command and everything that the command starts, by the
// means of each platform. It starts the command, follows it to its end, finds
// the members that have left the session, and signals all of them. It knows no
// chat, ID, record or limit.
//
// Here a process is one process of the system. A [Tree] is a command and
// everything that it started, and a member is one process of a tree. The leader
// is the tree's first process, the shell.
//
// On Linux a process is a member by one of these, and search_linux.go asks for
// them in this order:
//
//   - its cgroup, if Config.Cgroup is set: no process leaves it unseen;
//   - its session, as long as the leader's number is known to be the leader's;
//   - its mark, a resource limit that every descendant inherits;
//   - its scheduler slice, which a descendant has that the leader forked before
//     it was marked;
//   - its cookie, an environment variable.
//
// On Windows a job object has all members. On macOS and the BSDs there is the
// process group alone: what leaves it is not found.
package osproc
