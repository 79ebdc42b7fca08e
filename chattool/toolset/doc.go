// Package toolset gives a language model four tools to run commands. It fits
// any loop that calls tools: it has definitions with JSON schemas, and one
// function that carries out a call.
//
//	execute         run a command, in the foreground or in the background
//	process_output  read the output of a process, and wait for more
//	process_list    see which processes there are
//	process_signal  end or interrupt a process
//	process_input   write to the stdin of a process, with Options.Input
//
// The processes belong to a [procmgr.Manager]. A [Resolver] returns it at every
// call, so that one Set serves every chat and every machine. All state is in a Set.
// Package chattool wraps this package for charm.land/fantasy.
//
// # What a model can rely on
//
// A process is never lost: if a call leaves a process alive, or may have left
// one alive, its result has the ID. A timeout ends no process. It ends the wait,
// and the result says how to go on. A command is never run twice: its ID is
// chosen before it starts. If it is unknown whether the command ran, the
// result says so, and does not say "failed".
//
// # Results
//
// [Result].Report has the facts of a result, for a program. Content has them for
// the model, in Options.Format. [FormatJSON] is one JSON object on one line, whose
// fields are left out if they say nothing:
//
//	again                  how it differs from an earlier output
//	success                whether the command has not failed
//	output                 the text that was read
//	exit_code              absent while it is not known
//	signal                 such as "SIGKILL", if a signal ended the shell
//	state                  running, detached or exited
//	waiting_for_input      whether the program asks and waits
//	workdir                where it runs, if the chat was not told so last
//	duration               from the start to the end, or until now, as in 12.3s
//	error                  what went wrong, in words
//	denied                 whether Options.Approve denied it
//	truncated              what output leaves out
//	folded                 how many runs of identical lines output has folded
//	shown                  how many highlights output has
//	note                   what to know and what to do next
//	process_id             the ID, while the process lives or may live
//	next_offset            the since that reads on from here
//	log_path               a file with all of the output, if the manager keeps one
//	meanwhile              what has become of other processes
//
// process_list returns {"processes":[…],"omitted":n}: the living processes, then the
// ended ones, each the newest first.
//
// [FormatText] says the same in about two thirds of the tokens. Its first line
// has the facts. Lines with an error, a workdir, a log and the notes follow. The
// line --- ends this header, and all behind it is the output, untouched:
//
//	exit code 1 · 12.3s · 131,075 bytes printed, 24,576 shown
//	note: all of it is in /var/lib/agent/19-5aymafeemy.log; search it with grep -n -a PATTERN FILE
//	---
//
// A header has no line end and no control of what it quotes, so no output can look
// like a header.
//
// success is false if the exit code is not 0, or if a foreground command has not ended
// within its timeout. A command that fails is a result. [Result].IsError is set only if
// the tool itself could not do its work: an argument is wrong, there is no manager, or
// the manager refuses.
//
// # Output
//
// The whole result takes at most the tokens that the model asks for with max_output:
// 8,000 by default, and never more than Options.Limit allows. Two bytes count as a
// token. If output has to be cut, it loses its middle, and its last bytes are the last
// bytes that the process printed. If the manager keeps a log, highlights of what is
// missing stand between its beginning and its end, see [procmgr.Highlight]. They take
// at most a third of the budget:
//
//	... [omitted 98304 bytes] ...
//
//	... [of these, by line] ...
//	2041: error[E0308]: mismatched types ... [3 more like it]
//	2042:   --> src/main.rs:3:5
//	... [the end] ...
//
// Four or more identical lines in a row become the line and a count, if that is shorter:
//
//	... [the line above 9999 times more] ...
//
// A program can print lines that look like these. folded and shown are the numbers of
// the real ones, and only if truncated is there is anything omitted. All numbers and
// offsets are about the bytes that the process printed.
//
// If a command ran before, in the same directory, and one of the last 20 results of
// the conversation has shown its output, the result has only how the new output differs,
// see [procmgr.Changes], provided that this is at most half as long. The third read in a
// row of a process that shows nothing new says so in one line, and from the fifth on a
// read waits up to 30 s. See [Set.Forget] and Options.Whole.
//
// # Notes
//
// A note keeps a model from a wrong conclusion, or from a needless call. It says
// how the process stands, and at most two things about the command: for example that a
// filter at the end of a pipeline set the exit code, that a variable was withheld, or
// that stdin is empty. They come from the command's syntax as its shell reads it, and if
// something is not certain, there is no note. Options.Advise adds others.
//
// # What the model has not been told
//
// Any result may have meanwhile: lines about processes that earlier calls have left
// running, and that have ended since, have printed a line that matches notify_on, or
// wait for input:
//
//	npc5orns6a ("npm test") exited with code 1 after 2m; last line: "3 failing"
//
// This is no queue of messages. The Set remembers which processes it has left
// running, and asks the manager what has become of them. So an end that a result has
// shown is never told again, and no chat is told of another one. What the loop drops is
// lost; a host that may lose nothing, or wants to wake an idle model, uses an [Inbox].
//
// # Canceled calls
//
// Suppose that execute waits for a foreground command. If ctx is then canceled,
// execute stops the command. It sends terminate, waits up to 2 s for the end, and then sends kill, with contexts of
// their own, which keep the values of ctx. The stop uses the ID that was chosen before
// the start, so it also prevents a start that is still under way. Background
// commands are left alone, and so are the processes that process_output reads. A
// deadline is a timeout and ends no process. The call outlasts ctx by up to 7 s, or by
// 26 s if the manager answers nothing.
//
// # Arguments
//
// Package arguments says which forms of a value are taken. A tool refuses an argument
// that it does not have, and never ignores it: without a misspelled argument, something
// else would run than the model asked for. The one exception is description, because
// many models say there what a call is for.
//
// If a command ends with a statement that is backgrounded, with nothing but assignments,
// cd and export before it, execute takes the & off and runs it as if run_in_background
// were set. So its exit code is known, and a wait for it works.
package toolset
