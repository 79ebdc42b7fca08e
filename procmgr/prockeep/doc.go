// Package prockeep keeps processes while programs come and go. One keeper per
// user and directory holds a [proclocal.Local] and serves it on a unix socket in
// that directory. [Open] returns it, and starts it if none runs. If the program
// that opened it is deployed anew, crashes or is killed, nothing happens to the
// processes: the next one opens the same directory, and knows of every process,
// its output, its exit code and its ID.
//
//	func main() {
//		prockeep.Main()
//		…
//		keeper, err := prockeep.Open(ctx, filepath.Join(state, "keeper"), nil)
//		…
//		defer keeper.Close()
//		tools := toolset.New(toolset.Static(keeper.Chat(chatID)), nil)
//
// An ID that was started before is not started again, whichever program asks:
// Start returns that process, with Output.Attached set. So a program that was
// killed in the middle of a start asks again with the same ID, and the command
// runs once.
//
// # The keeper's program
//
// The keeper is the program itself, which Open starts once more in a session of
// its own; [Main] makes it a keeper before anything else of main runs. Its
// package inits run too. If they are heavy, set Options.Path to a small program
// whose main function calls Main.
//
// # What counts
//
// The program that starts a process gives it its own environment and current
// directory, as with a Local: Open applies Options.Local.Env to them first, so
// no secret travels to the keeper unless the policy lets it through. They are no
// part of what an ID stands for. Everything else is the keeper's: its options,
// the PATH on which it looked for a shell, its umask, niceness and limits are
// those of the program that opened the directory first.
//
// A function cannot be passed to another program. Instead of Options.WorkDir and
// UpdateEnv, set the fields of a [procmgr.StartRequest]. docs/keeper.md says what
// to do in place of each, and what survives what.
//
// # The end of the keeper
//
// A keeper ends by [Keeper.Stop], by SIGTERM, both of which end its processes
// first, or if nothing has run and nobody has asked for Options.Idle. The next
// one knows nothing of the processes of the one before it, nor of their IDs.
//
// On Linux, a holder stays when a keeper is killed or crashes, and starts the next
// one, which goes on: it knows every ID and exit code, and has the later output.
// The holder is this program once more, as the parent of the keeper. A call in
// flight fails with [procmgr.ErrUnknown] if it may have been carried out.
// [Keeper.Upgrade] goes the same way, and loses nothing.
//
// Elsewhere, or if the holder is killed too, the next keeper knows every ID by a
// journal in the directory. Processes that live on are found, but their later
// output and exit codes are not, and most of them end by SIGPIPE at their next
// write.
//
// # Security
//
// The directory has mode 0700 and the socket 0600. Every program of the same user
// can connect and then start and end processes, commands included: chats are
// kept apart by the interface alone, as in procmgr. The environment of the
// keeper, which every command can read, has PATH, HOME, LANG and TMPDIR, and no
// more.
//
// # Platforms
//
// Linux, macOS and the BSDs. Elsewhere Open returns [errors.ErrUnsupported], and
// Main does nothing. To test a program that opens a keeper, call Main first in
// TestMain, set Options.Idle to some seconds, and call Stop.
package prockeep
