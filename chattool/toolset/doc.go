// Package toolset gives a language model four tools to run commands with, for
// any loop that calls tools: definitions with JSON schemas, and one function
// that carries out a call.
//
//	execute         run a command, in the foreground or in the background
//	process_output  read what a process has printed, and wait for it
//	process_list    see which processes there are
//	process_signal  end or interrupt one
//
// The processes belong to a [procmgr.Manager], which a [Resolver] names at
// every call, so that one Set serves every chat and every machine. For
// charm.land/fantasy, package chattool wraps this one. A host whose interface
// knows the tools by other names sets Options.Names.
//
// # What a model can rely on
//
// A process is never lost: the result of every call that leaves one alive, or
// may have left one alive, has its ID. A timeout ends no process; it ends the
// wait, and the result says how to go on. A command is never run twice: its ID
// is chosen before it is started, and where nobody can tell whether it ran, the
// result says so and not "failed".
//
// # Results
//
// [Result].Content is always one JSON object on one line, with <, > and & as
// they are. For execute and process_output it has
//
//	success                whether the command has not failed; see below
//	output                 what was read, always there
//	exit_code              absent while it is not known
//	signal                 such as "SIGKILL", where one ended the shell
//	state                  running, detached or exited
//	workdir                where it runs, if the chat was not told so last
//	wall_duration_ms       from the start to the end, or until now
//	error                  what went wrong, in words
//	truncated              what output leaves out, absent where nothing
//	note                   what to know and what to do next; see below
//	background_process_id  the ID, while the process lives or may live
//	next_offset            what to pass as since to read on
//	log_path               a file with all of the output, where the manager keeps one
//
// workdir is in the first result of a chat, and in each one of a process that runs
// elsewhere than the last one that was told, so that a model knows where it is. If
// the manager has passed over the directory that it was set up with, the note says
// so beside it. A manager without chats is taken for one chat.
//
// execute leaves next_offset out once nothing lives, and log_path is there only
// where the process lives or output is truncated. process_signal returns the
// same object without output. What output takes in the JSON is at most
// Options.Limit.Bytes, and its last bytes are the last that were printed.
//
// process_list returns {"processes":[…],"omitted":n}: all that live, then those
// that have ended, background ones first, and of equals the newest first. It has
// 20 of them, or more where more live, and then 5 that have ended beside those.
// If there are others, next_offset is what to pass as offset for them.
//
// success is false where the exit code is not 0, and for a foreground command
// that has not ended within its timeout, since what the model asked for has not
// happened yet. A background command that has not failed is a success.
//
// A command that fails is a result. [Result].IsError is for what the tool
// itself could not do: an argument that is wrong, a manager that cannot be had
// or that refuses. Its Content is {"success":false,"error":"…"}, with
// background_process_id where a process may live all the same. An error of
// Start that neither is [procmgr.ErrUnknown] nor comes with an ID is told as
// what it is, a command that has not run; one that is [procmgr.ErrRefused]
// comes with the reason, and with the advice not to try again. A call whose
// context has ended is a result, not a tool error.
//
// # Notes
//
// A note keeps a model from a wrong conclusion, or from another call. Beside
// how the process stands, it says at most two things about the command, those
// that come first here:
//
//	the shell is not bash, and the command was written for bash
//	the environment policy kept a variable from it that it mentions
//	it has ended its own shell, or found it, by a pattern of pkill -f or pgrep -f
//	it has asked a question, or for a password, and stdin is empty
//	an editor waits for a person; or nobody has edited the list of git rebase -i
//	the exit code, or the one that && or $? in the script went by, is that of a
//	filter at the end of a pipeline; or grep's 1
//	the exit code is one that a shell gives: 124 of timeout, 126, 127, 128+n
//	it has waited with sleep, where wait_for would have returned at once
//	it has only printed files
//
// The note of process_output says what came of wait_for: the line that matched
// and its offset, or how many bytes of the output were not searched. A pattern
// that no line can match, or that is written as /x/i, is refused.
//
// What is said of a command is read from its syntax tree, as its shell reads it,
// never from its characters, and nothing is said where that is not certain: of a
// command of
// over 16 KiB, one that is not valid, or one in which an exit, a trap or a set
// -o pipefail may stand between the pipeline and the exit code.
//
// # Repeated lines
//
// Four or more identical lines in a row become the line once and a count,
//
//	... [the line above 9999 times more] ...
//
// (of empty lines, [99 empty lines more]) wherever that is shorter, unless
// Options.KeepRepeats is set. This is done to what a model reads, and to nothing
// else: truncated, next_offset, the log and Result.Output are about what the
// process printed. Lines that a cut went through are not counted with others.
//
// # Canceled calls
//
// When ctx is canceled while execute waits for a foreground command, or its
// deadline passes with the cause [ErrStop], that command is stopped: terminate, up to 2 s for it to end, then kill. This uses contexts
// of its own, which keep the values of ctx, so the call outlasts ctx by up to
// those 2 s and the 5 s that kill may take (by 26 s, where the manager answers
// nothing). It goes by the ID that was chosen before the start, so a command
// whose start is still under way is prevented. Background commands are left
// alone, and so is what process_output reads.
//
// Any other deadline is a timeout and ends nothing. The result is that of the
// tool's own timeout, with the ID; it is read with a context of its own, so the
// call outlasts the deadline by up to 5 s.
//
// # Arguments
//
// Durations may be "30s", "1m30s", "10 minutes", "1 hour and 5 min", "30", 30 or
// 1.5, the last three in seconds; "" and null are the default. A number over 600
// without a unit is refused with both of its readings, since 1000 may be meant as
// milliseconds. Booleans and offsets may come as strings, signals as
// SIGTERM or 15, the arguments of a call as a JSON string that holds the
// object, and none at all as "" or null. An argument that a tool does not have
// is refused and never ignored: dropping a misspelled one would run something
// else than was asked for. The one exception is description, by which many models
// say what a call is for. A workdir may begin with ~, see
// [procmgr.StartRequest]. A since beyond the end reads nothing, and the note
// says where the output ends.
//
// # The trailing &
//
// A command whose last top-level statement is backgrounded, with nothing but
// assignments, cd and export before it, is run in the background with the & taken
// off, as if run_in_background had been set, so that its exit code is known
// and waiting for it works. What stands before it must be plain: a redirection
// or a command substitution there runs something that has to be over when the
// call returns, and leaves the command as it is. Scripts are parsed up to 64 KiB
// and to a bounded depth.
//
// # The shell
//
// Commands are for the shell of their manager, which [procmgr.Shell] tells, or
// Options.Shell. The description of execute names it, and scripts are parsed in
// its language; one that nobody can tell is taken for bash. Scripts for a shell
// with another syntax altogether, such as fish or cmd, are not parsed: nothing is
// promoted then, and no note is about syntax.
//
// # Testing
//
// A Set needs a [procmgr.Manager], an interface of four methods: a fake of a
// few lines does, and so does procmgr.NewLocal. Package toolset has no state
// and differs by platform in nothing but what its manager does.
package toolset
