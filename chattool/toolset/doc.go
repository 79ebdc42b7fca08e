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
// ended ones, the newest first.
//
// [FormatText] says the same in about two thirds of the tokens. Its first line
// has the facts. Lines with an error, a workdir, a log and the notes follow. The
// line --- ends this header; everything after it is the output, untouched. Line ends and
// control characters in the text that a header quotes are escaped, so no output can look
// like a header.
//
// success is false if the exit code is not 0, or if a foreground command has not ended
// within its timeout. A command that fails is a result. [Result].IsError is set only if
// the tool itself could not do its work: an argument is wrong, there is no manager, or
// the manager refuses.
//
// # Output, notes and notices
//
// The whole result takes at most the tokens that the model asks for with max_output:
// 8,000 by default, and never more than Options.Limit allows. Two bytes count as a
// token. If output has to be cut, it loses its middle, and its last bytes are the last
// bytes that the process printed. A program can print lines that look like the marker of
// a cut, a fold or a highlight: truncated, folded and shown count the real ones. All
// numbers and offsets refer to the bytes that the process printed. The page docs/output.md
// has the forms, and says when a result has a diff in the place of the output.
//
// A note keeps a model from a wrong conclusion, or from a needless call: there are at most
// two hints about a command, from its syntax as its shell reads it, and none if something
// is uncertain. Options.Advise adds others.
//
// meanwhile has a line for each process that an earlier call left running and that has
// ended since, printed a line that matches notify_on, or begun to wait for input. If the
// loop drops a result, its notices are lost. A host that must not miss an exit, or wants to
// wake an idle model, uses an [Inbox].
//
// # Canceled calls
//
// If ctx is canceled while execute waits for a foreground command, execute stops the
// command. It sends terminate, waits up to 2 s for the end, and then sends kill, with
// separate contexts that keep the values of ctx. The stop uses the ID that was chosen
// before the start, so it also prevents a start in flight. Background commands are left
// alone, and so are the processes that process_output reads. A deadline is a timeout and
// ends no process. The call outlasts ctx by up to 7 s, or by 26 s if the manager does
// not answer. [Set.Stop] does the same for everything that a chat has in the foreground.
//
// # Arguments
//
// Package arguments documents the accepted forms of a value. A tool refuses an unknown
// argument rather than ignore it, because without a misspelled argument something other
// than the model's request would run. The one exception is description, because many
// models use it to say what a call is for: [Report] and [Question] have it.
//
// If a command ends with a backgrounded statement, with nothing but assignments, cd and
// export before it, execute removes the & and runs it as if run_in_background were set.
// So its exit code is known, and a wait for it works.
package toolset
