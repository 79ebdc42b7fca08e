// Package prockeep keeps processes while programs come and go. A keeper, a process of its
// own, runs the commands of a directory; [Open] returns its Host, and starts it if none
// runs. If the program that opened it is deployed anew, crashes or is killed, nothing
// happens to the processes: the next one opens the same directory, and knows every
// process, its output, its exit code and its ID.
//
//	func main() {
//		prockeep.Main()
//		…
//		host, err := prockeep.Open(ctx, filepath.Join(state, "keeper"), nil)
//		…
//		defer host.Close()
//		tools, err := toolset.New(toolset.Static(host.Chat(chatID)), nil)
//
// An ID that was started before is not started again, whichever program asks: Start
// returns that process, with Output.Attached set. So a program that was killed in the
// middle of a start asks again with the same ID, and the command runs once.
//
// # The keeper's program
//
// The keeper is the program itself, which Open starts once more in a session of its own;
// [Main] makes it a keeper before anything else of main runs. Its package inits run too.
//
// # Upgrades
//
// With Options.Replace, Open starts a new keeper, and the earlier one drains: it starts
// nothing any more, keeps what it has, and ends when its processes have ended and their
// results were kept long enough. A Host asks whichever keeper has an ID, so a wait that
// spans an upgrade goes on.
//
// # The death of a keeper
//
// If a keeper is killed, the later output and the exit codes of its running processes are
// lost. Linux: the next call or keeper ends what is left of them, and their IDs are told
// as exited, with the cause [procmgr.CauseLost]. Until then they run unobserved. No ID
// runs twice: all keepers of a directory append to one file, "ids", before they fork.
//
// # Security
//
// The directory has mode 0700. Every program of the same user can connect, and then start
// and end processes: chats are kept apart by the interface alone, as in procmgr. The
// environment of the keeper, which every command can read, has PATH, HOME, LANG and
// TMPDIR, and no more. A keeper with a sandbox serves no command that runs in it (Linux).
//
// # Platforms
//
// Linux, macOS and the BSDs. Elsewhere Open returns [errors.ErrUnsupported], and Main
// does nothing. To test a program that opens a keeper, call Main first in TestMain, set
// Options.Idle to some seconds, and call Stop. [docs/keeper.md] says what survives what.
//
// [docs/keeper.md]: https://github.com/toolproc/toolproc/blob/main/docs/keeper.md
package prockeep
