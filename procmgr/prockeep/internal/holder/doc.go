// Package holder has what stays when a keeper ends: the holder, a process that is
// the keeper's parent. It holds a duplicate of each descriptor that a keeper
// cannot open again, and becomes the parent of the processes that a dead keeper
// leaves behind. It starts the keeper again, and gives it all of that. It does
// nothing else: it reads no output, and knows no ID.
//
//	program ─Open─> holder ─fork, exec─> keeper ─fork, exec─> commands
//
// [Run] is the holder, and a [Link] the keeper's side of it. They talk through a
// pair of sockets that keeps messages whole, so a keeper that is killed in the
// midst of one leaves the whole message or nothing of it. Neither side waits for
// the other one without a limit.
//
// # Upgrade and crash
//
// Both are one path: the keeper ends, and the next one gets the descriptors and
// the ends of the processes. At an upgrade it gets the state of the one before it
// too. The next keeper is then started beforehand and checks whether it can read
// that state; only after that does the first one give its state, and it counts
// only if the keeper says so when the holder has it (Commit). A state that was
// taken over is never given again.
//
// # Ends
//
// While no keeper lives, nothing is reaped. So the number of a process that the
// journal knows is not another one's when the next keeper looks for it. From
// Settle on, the holder reaps everything, and tells the keeper the ends of those
// for which it waits.
//
// A keeper that ends for good says so, and exits with 0. If it is killed before that,
// the next one is told that it only has to go on with the end.
//
// The holder is for Linux alone: elsewhere nobody but PID 1 can adopt processes.
package holder
