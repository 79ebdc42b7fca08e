package procmgr

import (
	"context"
	"time"

	"github.com/toolproc/toolproc/headtail"
)

// A Manager runs and tracks processes. All methods are safe for concurrent use.
//
// A Manager that cannot do all of it embeds [Unsupported], whose methods return
// [errors.ErrUnsupported]. A Manager that guards another one embeds it too, and
// forwards each method by name: if it embedded the guarded Manager, it would let
// through every method that a later version adds. [WrapHost] puts a guard before a
// Host and before each of its chats.
//
// The caller may keep and change everything that a method returns. If the
// manager does not know an ID, or if the ID belongs to another chat, the error
// is [ErrNotFound].
type Manager interface {
	// Start runs a command, waits for its end as long as the request says,
	// and returns its output. The process outlives the call: ctx bounds the
	// call alone. An ID runs once; see [StartRequest].
	//
	// An error says whether the command may have begun. If it may have, the
	// Output that comes with the error has the Process.ID, or the error is
	// [ErrUnknown], or both. Any other error is a refusal: nothing was
	// started, nothing will be, and the caller may start the command again,
	// unless the error is [ErrRefused]: then it does not help to ask again. If
	// a Manager cannot tell, it returns ErrUnknown and never an error of its
	// own alone: the caller would take that for a refusal and run the command
	// a second time.
	Start(ctx context.Context, req StartRequest) (Output, error)

	// Output waits as long as the request says, and returns the output of a
	// process from an offset on. Reading consumes nothing.
	Output(ctx context.Context, id string, req OutputRequest) (Output, error)

	// Signal ends or interrupts a process and everything that it started.
	// With Terminate and Interrupt it returns when the signal has been sent.
	// With Kill it returns when nothing is left, or after 5 s with an error
	// that names the survivors (10 s if the manager hardly gets a processor).
	// If the process has already ended, the error is
	// [ErrNotRunning].
	//
	// If the chat has never used the ID, the error is [ErrNotFound], and
	// Terminate and Kill spend the ID: a Start that arrives later runs
	// nothing. So the start for which a stop was meant cannot overtake it.
	Signal(ctx context.Context, id string, sig Signal) error

	// Input writes to the stdin of a process that was started with one, waits
	// for output as long as the request says, and returns the output from the
	// offset before the write on. The bytes of one request stay together, also
	// beside other writers. A key writes once; see [InputRequest].
	//
	// If the process was started without a stdin, the error is [ErrInvalid].
	// If it has ended, or nobody can read its stdin any more, the error is
	// [ErrNotRunning]. After an error, the InputOutput says how much of Data
	// was written; if it has no Process.ID, nothing was.
	Input(ctx context.Context, id string, req InputRequest) (InputOutput, error)

	// List returns the processes that run, and those that have ended and are
	// still kept: all of them for the zero request. They are in the order of a
	// [ListPage]. A request that can never be carried out is [ErrInvalid]. If an
	// error is a [*PartialError], the page that comes with it has the processes
	// of the machines that answered.
	List(ctx context.Context, req ListRequest) (ListPage, error)

	// Events returns the changes of the processes that this Manager shows, the
	// oldest first. Reading consumes nothing: two callers do not
	// take events from each other, and a caller asks again if an answer was
	// lost. By the time an event is told, List and Output agree with it.
	//
	// A chat sees the events of its own processes, and the host those of all.
	// A bounded number is kept. A manager that keeps none returns
	// [errors.ErrUnsupported].
	Events(ctx context.Context, req EventsRequest) (EventPage, error)

	// Describe describes the machine that runs the commands. The answer is the
	// same at every call, and costs little when it is asked again.
	Describe(ctx context.Context) (Description, error)
}

// A Description describes the machine that runs the commands of a [Manager]. In
// the zero value nothing is known.
type Description struct {
	// Shell is the base name of the program that interprets the commands of
	// Start, such as "bash", "sh" or "cmd", without ".exe"; "" if it cannot be
	// told.
	Shell string `json:"shell,omitempty"`
	// OS is the system, as [runtime.GOOS] names it; "" if it cannot be told.
	OS string `json:"os,omitempty"`
	// Sandbox has the rules that hold for all commands; nil if there are none, or
	// none are known.
	Sandbox *SandboxRules `json:"sandbox,omitempty"`
}

// SandboxRules are what commands may not do, whatever they are. They hold for
// all that a command starts too. A list has at most 64 paths, each of at most 4,096 bytes
// of UTF-8 without a control character; a [Manager] leaves the others out.
type SandboxRules struct {
	// Write has the directories below which commands may write, and nowhere else
	// but below $TMPDIR, and to devices such as /dev/null.
	Write []string `json:"write,omitempty"`
	// Protect has what commands may not write although it is below Write.
	Protect []string `json:"protect,omitempty"`
	// Hide has what they can neither read nor list.
	Hide []string `json:"hide,omitempty"`
	// NoNetwork reports that they reach no network.
	NoNetwork bool `json:"no_network,omitempty"`
	// NoUnixSockets reports that they can make no Unix socket, by which they would reach
	// servers outside.
	NoUnixSockets bool `json:"no_unix_sockets,omitempty"`
}

// A Host is a Manager that sees every process. It gives each chat a Manager
// that sees only the processes of that chat.
//
// Two chats may use the same ID. If several chats have an ID, a call of the Host
// for it is [ErrConflict]; a call of the chat's own Manager is not.
type Host interface {
	Manager
	// Chat returns the Manager of one chat. For a process that the chat did
	// not start, every call is [ErrNotFound], as for an ID that nobody has
	// used. The ID of a chat has 1 to 256 bytes of UTF-8 and no control
	// character. With any other ID, "" included, every call is [ErrInvalid]:
	// isolation fails closed.
	Chat(id string) Manager
}

// A StartRequest names the command to run, and how to run it.
//
// An ID belongs to its chat, and there to one command. If the chat has used the
// ID with the same Command, WorkDir, Env and Stdin, Start starts nothing: it
// returns that process, with Output.Attached set. This holds also for several
// callers at the same instant. If any of them differs, the error is [ErrConflict]. The
// requests are compared as they are: a WorkDir of "" differs from the default
// directory by its name. But TRACEPARENT and TRACESTATE of Env may differ: by W3C
// Trace Context they say who asks, and the process has those of the first Start.
type StartRequest struct {
	// ID has 1 to 64 characters of A-Z a-z 0-9 _ -, and the caller chooses
	// it. If it is "", the manager makes one. A caller that has chosen the ID
	// can ask again after a lost answer, and can stop a process of which it
	// has not heard yet.
	ID string
	// Command is given to the shell as it is. It is required.
	Command string
	// WorkDir is the directory to run in; "" is the manager's default. A
	// relative path is resolved against that default. A ~ that stands alone or
	// before a slash is the home on the machine that runs the command: the
	// value of HOME that the command has. If the directory cannot be used, the
	// error is [ErrInvalid].
	WorkDir string
	// Env has variables on top of those that the manager's policy lets
	// through. It may set PWD. It cannot change the other variables that the
	// manager sets: TOOLPROC, TOOLPROC_PROCESS_ID and TOOLPROC_CHAT_ID.
	Env map[string]string
	// Background is a label. The manager treats all processes alike.
	Background bool
	// Stdin is the stdin of the command. By default it is empty, so that the
	// command cannot wait for an answer. If the manager cannot give it, the
	// error is [errors.ErrUnsupported]; a proclocal.Local has terminals on Linux,
	// macOS and BSD, and on Windows no other stdin than an empty one yet.
	Stdin Stdin
	// Wait is how long to wait for the end. If it is 0, Start returns when the
	// process has started.
	Wait time.Duration
	// UntilWaiting ends the wait as OutputRequest.UntilWaiting does.
	UntilWaiting bool
	// Limit bounds the Text of the answer; the zero value is the default.
	Limit headtail.Limits
	// Highlight asks for highlights as that of an OutputRequest does.
	Highlight int
	// Notify is an RE2 pattern with the limits of OutputRequest.Until. The
	// first line that it matches is an [Event] of kind [EventMatched], the
	// unfinished last line included. Later lines are none. "." is the first
	// line that is not empty. Notify is not compared if the ID was used
	// before: that of the first Start counts.
	Notify string
}

// An OutputRequest has the offset to read from, and the time to wait.
type OutputRequest struct {
	// From is an offset in the output in bytes. 0 is the beginning, and so is
	// a negative offset. An offset beyond the end is taken for the end.
	From int64
	// Wait is the longest time to wait; 0 returns at once. A wait ends as soon
	// as the process changes its state.
	Wait time.Duration
	// State is the last state that the caller knows; "" is the state at the
	// time of the call. If the process has another one, the wait is over at
	// once: so a change between two calls is told by the second.
	State State
	// Until is an RE2 pattern: return as soon as output from From on matches
	// it. It is matched line by line, the unfinished last line included,
	// each line's first 4 KiB. A pattern of over 256 bytes, one that compiles
	// to over 1,000 instructions, and one that no line can match, since it
	// wants a newline for example, is [ErrInvalid]. "." is any new output.
	Until string
	// Ports asks for Output.Listening: the ports on which the process listens.
	// That costs a look at every process of the machine. If the manager cannot
	// tell, the error is [errors.ErrUnsupported]; a proclocal.Local can on Linux alone.
	Ports bool
	// UntilListening is a TCP port, or -1 for any: return as soon as the
	// process listens on it, on any address. While a call waits for a
	// port, the manager looks every 100 ms. It sets Output.Listening as Ports
	// does. A port over 65,535 is [ErrInvalid], and so is one below -1.
	UntilListening int
	// Members asks for Output.Members, at the same cost as Ports. If the manager
	// cannot tell, the error is [errors.ErrUnsupported]; a proclocal.Local can on
	// Linux alone.
	Members bool
	// UntilWaiting ends the wait as soon as a member waits for input and the output
	// has been quiet for 200 ms. Process.Waiting then says which. If nobody can tell,
	// as for a process with an empty stdin, it changes nothing. While a call waits
	// so, the manager looks when the output has been quiet for 200 ms, and then
	// after 0.4, 0.8 and so on up to 5 s.
	UntilWaiting bool
	// Limit bounds the Text of the answer; the zero value is the default.
	Limit headtail.Limits
	// Screen asks for Output.Screen.
	Screen bool
	// Highlight asks for Output.Highlights of at most so many bytes of text; 0 or
	// less asks for none. They take a part of Limit: if Text is cut, it is shorter
	// by about what they and the numbers of their lines take.
	Highlight int
	// Against asks for Output.Changes: it is the ID of another process of this
	// chat that has ended, whose whole output is compared with that of this one.
	// "" asks for none. An ID that the chat does not have is no error.
	Against string
}

// A Highlight is a line of the output that tells of trouble, such as an error.
// It stands for all lines of its form: those that differ from it only in quoted
// text and in words with a digit or a slash, or behind its first 80 bytes.
type Highlight struct {
	// Line is the number of the line in the stream, from 1 on. It is 0 if the
	// manager has not counted so far.
	Line int `json:"line,omitempty"`
	// Offset is the offset in the stream at which the line begins, or the part
	// of it that the output's text leaves out.
	Offset int64 `json:"offset"`
	// Text is the line as valid UTF-8, and up to two lines that follow it, are
	// not empty and no highlights themselves. The last line end is left out. Each line has at most 300 bytes: of a longer one the part around
	// the trouble, with … for the rest.
	Text string `json:"text"`
	// Count is how many more lines of this form Text leaves out.
	Count int `json:"count,omitempty"`
}

// An Output is the output of a process from an offset on, and its state.
type Output struct {
	Process Process `json:"process"`
	// Attached reports that Start found this process by its ID and started
	// nothing.
	Attached bool `json:"attached,omitempty"`
	// Withheld has the names of the variables that the command mentions and
	// that the environment policy kept from it. It never has values. If the
	// command has failed, the names in its output count too.
	Withheld []string `json:"withheld,omitempty"`
	// PassedOver says why the process does not run in the default directory, but in
	// Process.WorkDir: "the program's own directory has gone". It is "" if no
	// directory was passed over, as for a request that names its directory in full.
	PassedOver string `json:"passed_over,omitempty"`
	// Text is the output as valid UTF-8. If it exceeds the limit, its middle
	// is left out.
	Text string `json:"output"`
	// Truncated counts the bytes from From on that Text leaves out. It is nil
	// if Text leaves out nothing. If output from From on was lost with the
	// program that had read it, and nobody knows how much that was,
	// Truncated.Unknown says so, also if nothing else is left out.
	Truncated *headtail.Truncation `json:"truncated,omitempty"`
	// Next is the offset at which to go on reading: the From of the next
	// request. It never lies within a rune. Text may go on beyond it with a
	// line that the program is still redrawing, such as a progress line or a
	// prompt: that has no offset.
	Next int64 `json:"next"`
	// Redacted has the names of the secrets whose values were masked in the output of
	// the process so far: [withheld: NAME] stands in their place. Offsets are those of
	// the masked output.
	Redacted []string `json:"redacted,omitempty"`
	// Live is that line, with which Text ends. A caller that joins texts takes it
	// off with [strings.TrimSuffix], or gets the line twice. The length of Text
	// without it need not be Next minus From, because each invalid byte of the
	// stream is U+FFFD in Text.
	Live string `json:"live,omitempty"`
	// Matched reports whether Until matched. It and the next three fields are zero if
	// the request has no Until.
	Matched bool `json:"matched,omitempty"`
	// MatchedLine is the line that Until matched, as valid UTF-8 without its
	// end. Of a line of over 300 bytes it is the part around the match, with …
	// for the rest. It is "" if the pattern is ".".
	MatchedLine string `json:"matched_line,omitempty"`
	// MatchedAt is the offset in the stream at which that line begins, or From
	// if it begins before that.
	MatchedAt int64 `json:"matched_at,omitempty"`
	// Unsearched is how many bytes of the stream from From on Until was not
	// matched against, up to the match if there is one: bytes that were no
	// longer kept when the call began, and those beyond the first 4 KiB of a
	// line. Matched says nothing about them.
	Unsearched int64 `json:"unsearched,omitempty"`
	// Highlights are the first lines of each form of trouble in the part that
	// Text leaves out, if OutputRequest.Highlight asks for them. A line tells of
	// trouble if a word such as "error", from any program, starts its message, or
	// stands before a colon or in capitals, or anywhere if the exit code isn't 0.
	// They are in the order of rank: the gravest comes first. Of a process whose exit
	// code is 0 or not known there are at most 15 lines. If there is
	// no room for all, the last ones of this order are missing, so that more
	// room never shows less. They come from the log, so there are none without
	// one. A search ends after 64 MiB or 200 ms, and begins at both ends of the part
	// left out.
	Highlights []Highlight `json:"highlights,omitempty"`
	// Changes says how the output differs from that of OutputRequest.Against. It is
	// nil if that was not asked for, or if it cannot be told: one of the two
	// processes has not ended or is no longer kept, the window and the log have not
	// all of its output, or too much would have to be compared (a proclocal.Local
	// compares outputs of up to 8 MiB, of which up to 1 MiB and 20,000 lines lie
	// between the first and the last difference).
	Changes *Changes `json:"changes,omitempty"`
	// Listening has the sockets on which members of the process listen, in the
	// order of their ports, if Ports or UntilListening asked for them.
	Listening []Socket `json:"listening,omitempty"`
	// Members has the members of the process that live, in the order of their pids,
	// if the request asked for them. A member that ends or begins during the call may
	// be missing.
	Members []Member `json:"members,omitempty"`
	// Screen is the screen of the process's terminal, if the request asked for
	// it. It is nil if the process has no terminal. After the end it is the
	// last screen, as long as the output is kept.
	Screen *Screen `json:"screen,omitempty"`
}
