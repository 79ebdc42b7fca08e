package procmgr

import (
	"context"
	"time"

	"github.com/toolproc/toolproc/headtail"
)

// A Manager runs and tracks processes. All methods are safe for concurrent use.
//
// What a method returns is the caller's to keep and to change. An ID that the
// manager does not know, or that belongs to a chat other than its own, is
// [ErrNotFound].
type Manager interface {
	// Start runs a command, waits for it as long as the request says, and
	// returns what it has printed. The process outlives the call: ctx bounds
	// the call alone. An ID runs once; see [StartRequest].
	//
	// An error says whether the command may have begun: if it may have, the
	// Output that comes with the error has the Process.ID, or the error is
	// [ErrUnknown], or both. Any other error is a refusal: nothing was
	// started, nothing will be, and the caller may start the command again. A
	// Manager that cannot tell answers with ErrUnknown and never with an error
	// of its own alone: a caller that believes in a refusal runs the command
	// a second time.
	Start(ctx context.Context, req StartRequest) (Output, error)

	// Output returns what a process has printed from an offset on, after
	// waiting as long as the request says. Reading consumes nothing.
	Output(ctx context.Context, id string, req OutputRequest) (Output, error)

	// List returns the processes that run and those that have ended and are
	// still kept, in the order in which they were started.
	List(ctx context.Context) ([]Process, error)

	// Signal ends or interrupts a process and everything that it started.
	// Terminate and Interrupt return once they are sent; Kill returns once
	// nothing is left, or after 5 s with an error that names what survived.
	// A process that has ended is [ErrNotRunning].
	//
	// Terminate or Kill of an ID that the chat has never used is
	// [ErrNotFound] and spends that ID: a Start that arrives later runs
	// nothing. So a stop cannot be overtaken by the start it was meant for.
	Signal(ctx context.Context, id string, sig Signal) error
}

// A Host is a Manager that sees every process, and gives each chat a Manager
// that sees only that chat's.
//
// Two chats may use the same ID. A Host that is asked for an ID that several
// chats have answers [ErrConflict]; the chat's own Manager does not.
type Host interface {
	Manager
	// Chat returns the Manager of one chat. It answers every call for
	// anything that the chat did not start with [ErrNotFound], the same as
	// for an ID that was never given. A chat's ID has 1 to 256 bytes of UTF-8
	// and no control character; with any other, "" included, every call is
	// [ErrInvalid]: isolation fails closed.
	Chat(id string) Manager
}

// A StartRequest says what to run.
//
// An ID belongs to its chat, and there to one command. Start with an ID that
// the chat has used, and the same Command, WorkDir and Env, starts nothing: it
// returns that process with Attached set, also to several callers at the same
// instant. With anything different it is [ErrConflict]. What is compared is the
// request as it stands: "" is another WorkDir than the same one by its name.
type StartRequest struct {
	// ID is chosen by the caller, 1 to 64 characters of A-Z a-z 0-9 _ -;
	// "" takes one from the manager. A caller that chooses it can ask again
	// after a lost answer, and can stop what it has not heard of yet.
	ID string
	// Command is given to the shell as it is. It is required.
	Command string
	// WorkDir is the directory to run in; "" is the manager's default. A
	// relative one is resolved against that default. A ~ that stands alone or
	// before a slash is the home on the machine that runs the command: what HOME
	// is for the command. One that cannot be used is [ErrInvalid].
	WorkDir string
	// Env has variables on top of what the manager's policy lets through. PWD
	// apart, those that the manager sets itself are not to be changed:
	// TOOLPROC, TOOLPROC_PROCESS_ID and TOOLPROC_CHAT_ID.
	Env map[string]string
	// Background is a label: the manager treats both alike.
	Background bool
	// Wait is how long to wait for the end; 0 returns once the process has
	// started.
	Wait time.Duration
	// Limit bounds the Text of the answer; the zero value is the default.
	Limit headtail.Limits
}

// An OutputRequest says what to read, and how long to wait for it.
type OutputRequest struct {
	// From is an offset in the stream in bytes; 0 is its beginning, and so is
	// a negative one. One beyond the end is taken for the end.
	From int64
	// Wait returns at the latest after this long; 0 returns at once. A wait
	// ends as soon as the process changes its state.
	Wait time.Duration
	// Until is an RE2 pattern: return as soon as output from From on matches
	// it. It is matched line by line, the unfinished last line included,
	// each line's first 4 KiB. A pattern of over 256 bytes, or one that
	// compiles to over 1,000 instructions, is [ErrInvalid]. "." is any new
	// output.
	Until string
	// Limit bounds the Text of the answer; the zero value is the default.
	Limit headtail.Limits
}

// An Output is what a process has printed, and how it stands.
type Output struct {
	Process Process `json:"process"`
	// Attached reports that Start found this process by its ID and started
	// nothing.
	Attached bool `json:"attached,omitempty"`
	// Withheld are the names of the variables that the environment policy kept
	// from the command although the command mentions them; never values.
	Withheld []string `json:"withheld,omitempty"`
	// PassedOver says which default directory the process does not run in, and
	// why: "no such directory: /srv/app". Where it runs instead is
	// Process.WorkDir. It is "" if none was passed over, as for a request that
	// names its directory in full.
	PassedOver string `json:"passed_over,omitempty"`
	// Text is the output as valid UTF-8, its middle left out where it exceeds
	// the limit.
	Text string `json:"output"`
	// Truncated tells what Text leaves out of the stream from From on; nil
	// where it leaves out nothing.
	Truncated *headtail.Truncation `json:"truncated,omitempty"`
	// Next is the offset to ask From for what comes after. It never lies
	// within a rune. Text may go on behind it with what a program is still
	// redrawing, a progress line or a prompt: who puts texts together leaves
	// that out, or gets it twice.
	Next int64 `json:"next"`
	// Matched reports whether Until matched.
	Matched bool `json:"matched,omitempty"`
}
