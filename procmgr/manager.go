package procmgr

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/xerrors"

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

	// Input writes to the stdin of a process that was started with one, waits for
	// output as long as the request says, and returns the output from the offset before
	// the write on. The bytes of one request stay together, even with concurrent
	// writers. A request with a key is written once; see [InputRequest].
	//
	// If the process was started without a stdin, the error is [ErrInvalid]. If it has
	// ended, or its stdin no longer has a reader, the error is [ErrNotRunning]. After
	// an error, the InputOutput says how much of Data was written; if it has no
	// Process.ID, nothing was.
	Input(ctx context.Context, id string, req InputRequest) (InputOutput, error)

	// List returns running processes, and ended ones that are still kept: all of them
	// for the zero request. They are in the order of a [ListPage]. A request that can
	// never be carried out is [ErrInvalid]. If an error is a [*PartialError], the page
	// that comes with it has the processes of the machines that answered.
	List(ctx context.Context, req ListRequest) (ListPage, error)

	// Events returns the changes of the processes that this Manager shows, oldest
	// first. Reading consumes nothing: two callers do not take events from each other,
	// and a caller that lost an answer can ask again. By the time Events returns an
	// event, List and Output agree with it.
	//
	// A chat sees the events of its own processes, and the host sees all events. Only a
	// bounded number is kept. A manager that keeps none returns
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
	// NoLoopback reports that they do not reach the loopback either, so that none of them
	// can be a server.
	NoLoopback bool `json:"no_loopback,omitempty"`
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
	// Chat returns the Manager of one chat. For a process that the chat did not start,
	// every call is [ErrNotFound], as for an unused ID. The ID of a chat has 1 to 256
	// bytes of UTF-8 and no control character. With any other ID, "" included, every
	// call is [ErrInvalid]: isolation fails closed.
	Chat(id string) Manager
}

// A StartRequest names the command to run, and how to run it.
//
// An ID belongs to its chat, and there to one command. If the chat has used the ID with
// the same Command, WorkDir, Env and Stdin, Start starts nothing: it returns that
// process, with Output.Attached set. This also holds for concurrent callers. If any of
// these differs, the error is [ErrConflict]. They are compared as written, so a WorkDir
// of "" differs from the default directory given by name. TRACEPARENT and TRACESTATE in
// Env may differ: by W3C Trace Context they identify the caller. The process keeps the
// values from the first Start.
type StartRequest struct {
	// ID has 1 to 64 characters of A-Z a-z 0-9 _ -, and the caller chooses it. If it is
	// "", the manager makes one. A caller that has chosen the ID can ask again after a
	// lost answer, and can stop a process before it has heard back from Start.
	ID string `json:"id,omitempty"`
	// Command is given to the shell as it is, also if it begins with - or +. It is
	// required.
	Command string `json:"command"`
	// WorkDir is the directory to run in; "" is the manager's default. A
	// relative path is resolved against that default. A ~ that stands alone or
	// before a slash is the home on the machine that runs the command: the
	// value of HOME that the command has. If the directory cannot be used, the
	// error is [ErrInvalid].
	WorkDir string `json:"work_dir,omitempty"`
	// Env has variables in addition to the environment that the manager's policy lets
	// through. It may set PWD. It cannot change the other variables that the manager
	// sets: TOOLPROC=1, TOOLPROC_PROCESS_ID, and TOOLPROC_CHAT_ID, which is unset for a
	// process without a chat.
	Env map[string]string `json:"env,omitempty"`
	// Background is a label. The manager treats all processes alike.
	Background bool `json:"background,omitzero"`
	// Stdin is the stdin of the command. By default it is empty, so that the
	// command cannot wait for an answer. If the manager cannot give it, the
	// error is [errors.ErrUnsupported]; a proclocal.Local has terminals on Linux,
	// macOS and BSD, and on Windows no other stdin than an empty one yet.
	Stdin Stdin `json:"stdin,omitempty"`
	// Wait is how long to wait for the end. If it is 0, Start returns when the
	// process has started.
	Wait time.Duration `json:"wait,omitzero"`
	// UntilWaiting ends the wait as OutputRequest.UntilWaiting does.
	UntilWaiting bool `json:"until_waiting,omitzero"`
	// Limit bounds the Text of the answer; the zero value is the default.
	Limit headtail.Limits `json:"limit,omitzero"`
	// Highlight asks for highlights, like OutputRequest.Highlight.
	Highlight int `json:"highlight,omitzero"`
	// Notify is an RE2 pattern with the limits of OutputRequest.Until. The first line
	// that it matches, which may be the unfinished last line, is an [Event] of kind
	// [EventMatched]. Later matching lines are not. "." is the first line that is not
	// empty. Notify is not compared if the ID was used before: the pattern of the first
	// Start counts.
	Notify string `json:"notify,omitempty"`
	// MaxLifetime ends the process when it has run that long, detached or not: with
	// Terminate, a grace period, and then Kill. Process.EndedBy is then [CauseLifetime]. If
	// the manager has a limit of its own, the shorter one applies; 0 is no limit beyond
	// that, and a negative one is [ErrInvalid]. It is not compared if the ID was used
	// before: the value of the first Start counts. While the machine is suspended, the
	// time may stand still.
	MaxLifetime time.Duration `json:"max_lifetime,omitzero"`
	// Age is how long ago the caller first had reason to send this request, for a caller
	// that replays requests after a restart. If the manager does not know the ID and
	// cannot have seen it for all of Age, because it has not been up that long or has
	// forgotten IDs since, it starts nothing and the error is [ErrUnknown]: the command
	// may have run before. A client that reaches no manager cannot tell either. With 0,
	// or less, an unknown ID is always started. A caller that may have been suspended
	// takes Age from the wall clock ([time.Time.Round] with 0), because a monotonic clock
	// may stand still meanwhile. A guard that holds a start back adds that time to Age.
	Age time.Duration `json:"age,omitzero"`
}

// Unsupported is a [Manager] that can do nothing: the error of every method is
// [errors.ErrUnsupported]. A type that embeds it is a Manager, implements what it
// can, and stays one if a later version adds a method.
type Unsupported struct{}

var _ Manager = Unsupported{}

// unsupported is the error of one call.
func unsupported(call, id string) error {
	if id != "" {
		call += fmt.Sprintf(" %.80q", id)
	}
	return xerrors.Errorf("procmgr: %s: the manager cannot do this: %w", call, errors.ErrUnsupported)
}

// Start implements [Manager].
func (Unsupported) Start(_ context.Context, req StartRequest) (Output, error) {
	return Output{}, unsupported("start", req.ID)
}

// Output implements [Manager].
func (Unsupported) Output(_ context.Context, id string, _ OutputRequest) (Output, error) {
	return Output{}, unsupported("output", id)
}

// Input implements [Manager].
func (Unsupported) Input(_ context.Context, id string, _ InputRequest) (InputOutput, error) {
	return InputOutput{}, unsupported("input", id)
}

// Signal implements [Manager].
func (Unsupported) Signal(_ context.Context, id string, _ Signal) error {
	return unsupported("signal", id)
}

// List implements [Manager].
func (Unsupported) List(context.Context, ListRequest) (ListPage, error) {
	return ListPage{}, unsupported("list", "")
}

// Events implements [Manager].
func (Unsupported) Events(context.Context, EventsRequest) (EventPage, error) {
	return EventPage{}, unsupported("events", "")
}

// Describe implements [Manager].
func (Unsupported) Describe(context.Context) (Description, error) {
	return Description{}, unsupported("describe", "")
}

// WrapHost returns a Host whose own view is f("", h), and whose view of each chat is
// f(id, h.Chat(id)). So a guard that f puts around a Manager stands before the host
// and before every chat, and nothing reaches around it. f is called once for h, and
// once for each call of Chat; an ID of "" there is not valid, so h refuses its calls.
//
// A guard embeds [Unsupported], and forwards by name what it lets through. It must
// not embed the Manager that it guards: a method that the guard does not have would
// then go to that Manager directly, also one that a later version adds.
func WrapHost(h Host, f func(chatID string, m Manager) Manager) Host {
	return &wrappedHost{Manager: f("", h), chat: func(id string) Manager { return f(id, h.Chat(id)) }}
}

// A wrappedHost has the methods of the Manager that f has returned, and no other
// methods of its type.
type wrappedHost struct {
	Manager
	chat func(id string) Manager
}

func (h *wrappedHost) Chat(id string) Manager { return h.chat(id) }

// NewID returns a new process ID: 10 characters of lower-case base32, which are
// 50 random bits. It is short because models copy it. It is no secret: other
// chats cannot reach a process because it belongs to its chat, not because its
// ID is hard to guess.
func NewID() string { return strings.ToLower(rand.Text()[:10]) }
