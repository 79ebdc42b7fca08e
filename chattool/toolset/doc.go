// Package toolset gives a language model four tools to run commands. It fits
// any loop that calls tools: it has definitions with JSON schemas, and one
// function that carries out a call.
//
//	execute         run a command, in the foreground or in the background
//	process_output  read the output of a process, and wait for more
//	process_list    see which processes there are
//	process_signal  end or interrupt a process
//
// With Options.Input there is a fifth, process_input, which writes to the stdin
// of a process, and execute can start a process with one.
//
// The processes belong to a [procmgr.Manager]. A [Resolver] returns it at every
// call, so that one Set serves every chat and every machine. Package chattool
// wraps this package for charm.land/fantasy. If the host's interface knows the
// tools by other names, set Options.Names.
//
// # What a model can rely on
//
// A process is never lost: if a call leaves a process alive, or may have left
// one alive, its result has the ID. A timeout ends no process. It ends the wait,
// and the result says how to go on. A command is never run twice: its ID is
// chosen before it starts. If nobody can tell whether the command ran, the
// result says so, and does not say "failed".
//
// # Results
//
// [Result].Report has the facts of a result, for a program. Content has them for
// the model, in Options.Format. [FormatJSON] is one JSON object on one line. The
// characters <, > and & are not escaped. For execute and process_output the
// object has
//
//	again                  how it differs from an earlier output; see below
//	success                whether the command has not failed; see below
//	output                 the text that was read; see below for when it is not there
//	exit_code              absent while it is not known
//	signal                 such as "SIGKILL", if a signal ended the shell
//	state                  running, detached or exited
//	waiting_for_input      whether the program asks and waits, absent if not
//	workdir                where it runs, if the chat was not told so last
//	duration               from the start to the end, or until now, as in 12.3s
//	error                  what went wrong, in words
//	denied                 whether Options.Approve denied it, absent if not
//	truncated              what output leaves out, absent if that is nothing
//	folded                 how many runs of identical lines output has folded
//	shown                  how many highlights output has
//	note                   what to know and what to do next; see below
//	process_id             the ID, while the process lives or may live
//	next_offset            the since that reads on from here
//	log_path               a file with all of the output, if the manager keeps one
//	meanwhile              what has become of other processes; see below
//
// workdir is in the first result of a chat. It is also in each result of a
// process whose directory differs from the last one that the chat was told. So a
// model knows where it is. If the manager passed over the directory that it was
// set up with, the note says so in the same result. A manager without chats
// counts as one chat.
//
// execute leaves next_offset out once nothing of the process lives. Its log_path
// is there only if the process lives or output is truncated. process_signal
// returns the same object without output.
//
// [FormatText] says the same in about two thirds of the tokens. Its first line
// has the facts. Lines with an error, a workdir, a log and the notes follow. The
// line --- ends this header, and all behind it is the output, untouched:
//
//	exit code 1 · 12.3s · 131,075 bytes printed, 24,576 shown
//	note: all of it is in /var/lib/agent/19-5aymafeemy.log; search it with grep -n -a PATTERN FILE
//	---
//
// A header has no line end and no control of what it quotes: they are escaped.
// So no output can look like a header.
//
// The whole result, as the model reads it, takes at most the tokens that the
// model asks for with max_output: 8,000 by default, and never more than
// Options.Limit allows. The facts and notes count too, but the output gets half
// of the room even if they need more than the other half. If output has to be
// cut, it loses its middle. The last bytes of output are the last bytes that the
// process printed.
//
// If the manager keeps a log, the text that is cut has highlights between its
// beginning and its end: of what is missing there, the first line of each kind of
// trouble, with its number, up to two lines that follow it, and how many more of
// its kind there are. See [procmgr.Highlight]. They take at most a third of the
// budget, and 8 KiB:
//
//	... [omitted 98304 bytes] ...
//
//	... [of these, by line] ...
//	2041: error[E0308]: mismatched types ... [3 more like it]
//	2042:   --> src/main.rs:3:5
//	... [the end] ...
//
// A program can print lines that look like these, or like the line that stands
// for a folded run. folded and shown are the numbers of the real ones, and only
// if truncated is there is anything omitted.
//
// The value of a secret that the manager knows is masked in the output: [withheld:
// GITHUB_TOKEN] stands in its place, and a note says that files have what is really
// there. [procmgr.Output].Redacted has the names.
//
// If over 30 % of an output are control characters or bytes that are no UTF-8, a
// result has 512 bytes of it, and the note says that it is binary.
//
// process_list returns {"processes":[…],"omitted":n}, of each process its ID,
// state, command, age and exit code. Processes that live come
// first. Those that have ended follow, background processes before the others.
// Within each kind the newest comes first. A list has 20 processes. If more than
// 15 live, it has all of them and 5 that have ended. If there are others,
// next_offset is the offset that lists them.
//
// success is false if the exit code is not 0. It is also false if a foreground
// command has not ended within its timeout, because the model asked for its end.
// A background command that has not failed is a success.
//
// A command that fails is a result. [Result].IsError is set only if the tool
// itself could not do its work: an argument is wrong, there is no manager, or
// the manager refuses. Content is then {"success":false,"error":"…"}, with
// process_id if a process may live all the same. If Start returns an
// error without an ID that is not [procmgr.ErrUnknown], the result says that the
// command has not run. If the error is [procmgr.ErrRefused] or
// [errors.ErrUnsupported], the result gives the reason and advises the model not to
// try again. A call whose context has ended is a result, not a tool error.
//
// # What the model has not been told
//
// Any result, also that of process_list or a refused call, may have meanwhile: a
// list of lines about processes that earlier calls have left running, and that
// have ended since, have printed a line that matches notify_on, or wait for input:
//
//	npc5orns6a ("npm test") exited with code 1 after 2m; last line: "3 failing"
//
// This is no queue of messages. The Set remembers which processes it has left
// running, 1,024 in all, each by its chat. For a result it asks the manager what
// has become of those. So an end that a result has shown is never told again, a
// foreground command that ended during its call is never told, and no chat is
// told of another one. One message has 8 lines and 2 KiB at most, and the next
// result has the others. What a line quotes of output has its line ends and
// controls escaped. If nothing was left running, the manager gets no further
// request. Otherwise it is asked for its events after the work of the call, so that
// an end during the call is told too, and once for each process that was left running
// or that is told.
//
// In a result each end is told at most once: what the loop drops is lost. A host
// that may lose nothing, or wants to wake an idle model, sets Options.Notices to
// [NoticesInInbox] and uses an [Inbox]. For either, all four tools must be those
// of one Set.
//
// # Input
//
// Without Options.Input a command's stdin is empty, so that no command can hang
// on a question. With it, execute takes stdin: "open" is a pipe, and "terminal"
// a terminal. process_input writes text and presses keys, and returns what the
// process prints then, until that has been quiet for 300 ms, until wait_for
// matches, or, with end, until the process has ended. If the program waits for
// input, as far as the manager can tell, execute and process_input return at once:
// the result has waiting_for_input, the output ends with the question, and the note
// says how to answer it. See [procmgr.Waiting]. If the program shows the
// alternate screen of its terminal, as an editor does, or if the model asks for
// the screen, the output of the result is the rows of the screen. A password is
// written with secret, which waits until the program has turned the echo off.
//
// # Notes
//
// A note keeps a model from a wrong conclusion, or from a needless call. It says
// how the process stands. It also says at most two things about the command. If
// more are true, it says those that come first in this list:
//
//	a character of the command is not what it looks like: a no-break or zero-width space,
//	a carriage return, an HTML entity, a typographic dash or quote
//	the environment policy withheld a variable that the command mentions
//	a server in the background made the pipe non-blocking, which cut the output
//	the command asked a question, or for a password, and stdin is empty
//	nobody has edited the list of git rebase -i
//	a filter at the end of a pipeline set the exit code
//	the exit code is one that a shell gives: 126, 127, 128+n
//	a cd or an export on its own has no effect on later calls
//	the command only printed files
//
// Options.Advise adds others.
//
// The note of process_output gives the result of wait_for: the line that matched
// and its offset, or how many bytes of the output were not searched. A pattern
// that no line can match, or one written as /x/i, is refused.
//
// The notes on a command come from its syntax tree, as its shell reads the
// command, and never from its characters alone. If something is not certain,
// there is no note. So there is none for a command of over 16 KiB, for one that
// is not valid, or for one in which an exit, a trap or a set -o pipefail may
// stand between the pipeline and the exit code.
//
// # Approval
//
// With Options.Approve the host decides about each call of execute, process_input
// and process_signal before anything happens. A [Question] has the command as it
// will run, and the facts of package shellfacts about it. If the answer denies,
// the result has denied, and the model reads the reason and not to look for a way
// around it. Facts tell what is known of a command. They are no sandbox.
//
// # Repeated lines
//
// Four or more identical lines in a row become the line once and a count,
//
//	... [the line above 9999 times more] ...
//
// or [99 empty lines more] for empty lines. This happens only if the result is
// shorter. It changes the text that a
// model reads and nothing else: truncated, next_offset, the log and
// Result.Output are about the bytes that the process printed. A line that was
// cut is not counted with others.
//
// # The same as last time
//
// If a command ran before, in the same directory, and one of the last 20 results of
// the conversation has shown its output, the manager is asked how the new output
// differs, see [procmgr.Changes]. If the result is then at most half as long, it has
// that alone: the line
//
//	ran again · exit code 1 (0 before) · 12s (11s before) · differs from n4f by 3 lines of 886:
//
// which is the first of a text and the field again in JSON, all hunks, the last 5
// lines, and the ID by which all can be read. If nothing differs, the line ends with
// "the same output as n4f", and there is no output. If it is the same but for times, the
// line says so. An output of up to 1 KiB, one of
// a command that only prints files, and one that a call has asked for with max_output
// or has read before is always shown. See also [Set.Forget] and Options.Whole.
//
// The third read in a row of a process that shows nothing new has no output, and says
// in one line for how long there was nothing. From the fifth on a read waits up to
// 30 s, or Options.MaxTimeout if that is shorter, unless something happens.
//
// # Canceled calls
//
// Suppose that execute waits for a foreground command. If ctx is then canceled,
// or its deadline passes with the cause [ErrStop], execute stops the command. It
// sends terminate, waits up to 2 s for the end, and then sends kill. These steps
// use contexts of their own, which keep the values of ctx. So the call outlasts
// ctx by up to those 2 s and the 5 s that kill may take, or by 26 s if the
// manager answers nothing. The stop uses the ID that was chosen before the
// start, so it also prevents a start that is still under way. Background
// commands are left alone, and so are the processes that process_output reads.
//
// Any other deadline is a timeout and ends no process. The result is the same as
// for the tool's own timeout, and it has the ID. The result is read with a
// context of its own, so the call outlasts the deadline by up to 5 s.
//
// # Arguments
//
// Durations may be "30s", "1m30s", "10 minutes", "1 hour and 5 min", "30", 30 or
// 1.5, the last three in seconds. "" and null are the default. A number over 600
// without a unit is refused, because 1000 may be meant as milliseconds. The
// error gives both readings. Booleans and offsets may be strings. Signals may be
// SIGTERM or 15. The arguments of a call may be a JSON string that holds the
// object, and "" or null if there are none.
//
// A tool refuses an argument that it does not have, and never ignores it:
// without a misspelled argument, something else would run than the model asked
// for. The one exception is description, because many models say there what a
// call is for. A workdir may begin with ~, see [procmgr.StartRequest]. If since
// is beyond the end, the call reads nothing, and the note says where the output
// ends.
//
// # The trailing &
//
// Suppose that a command ends with a top-level statement that is backgrounded,
// with nothing but assignments, cd and export before it. Then execute takes the
// & off and runs the command in the background, as if run_in_background were
// set. So its exit code is known, and a wait for it works. The statements before
// must be plain: a redirection or a command substitution there runs something
// that must be over when the call returns. If there is one, the command stays as
// it is. Scripts are parsed up to 64 KiB and to a bounded depth.
//
// # The shell
//
// The shell of the manager runs the commands. Its Describe names it, or
// Options.Shell does. The description of execute names it too, and scripts are
// parsed in its language. If nobody can tell the shell, it is taken for bash. If
// the shell has another syntax altogether, such as fish or cmd, scripts are not
// parsed: then no & is taken off, and no note is about syntax.
//
// # Testing
//
// A Set needs a [procmgr.Manager]. A fake that embeds [procmgr.Unsupported] and has
// a few methods is enough, and so is proclocal.New. All state is in a Set.
// Managers may differ by platform; this package does not.
package toolset
