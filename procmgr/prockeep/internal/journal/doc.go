// Package journal keeps the lines by which a keeper that was killed is known
// afterwards: which IDs it has started, and what it knew of each.
//
// A journal is a file that survives the program, and not the machine: nothing is
// synced. Each line is one write, so a kill leaves at most one torn line at the
// end. A torn line was never written for anybody: its writer had not returned.
//
// Each line is whole: the last one of a process says everything, and the lines
// before it are dead. When most lines are dead, the living ones are copied to a
// new file, which then takes the place of the old one.
//
//	HEAD SUM BODY SUM
//
// The head says of which process the line is, and has a checksum of its own: if only
// the body of a line is damaged, its process is still known, and only what had become
// of it is not. If the head of a line cannot be read, or if lines are missing,
// [Journal.Doubt] tells that a process may be unknown.
package journal
