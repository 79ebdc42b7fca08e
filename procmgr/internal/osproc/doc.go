// Package osproc runs a command and everything that the command starts, by the
// means of each platform. It starts the command, follows it to its end, finds
// the members that have left the session, and signals all of them. It knows no
// chat, ID, record or limit.
//
// Here a process is one process of the system. A [Tree] is a command and
// everything that it started, and a member is one process of a tree. The leader
// is the tree's first process, the shell.
//
// The members of a tree, for a signal as for every other question, are found in
// members_linux.go and members_other.go. The deliver files send the signal.
package osproc
