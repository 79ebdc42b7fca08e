package toolset

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/toolproc/toolproc/chattool/arguments"
	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

// A Definition is a tool in the form that a provider wants.
type Definition struct {
	Name, Description string
	// Schema is the JSON schema of the arguments object.
	Schema json.RawMessage
	// Parallel reports that calls of this tool may run beside other calls
	// of the same step. Calls of other tools run in the order in which the
	// model made them.
	Parallel bool
}

// SchemaMap returns Schema in the form that most libraries want. The caller owns it.
func (d Definition) SchemaMap() map[string]any {
	var schema map[string]any
	_ = json.Unmarshal(d.Schema, &schema) // nil if it is not one of a Set
	return schema
}

// The descriptions have placeholders for what [kit.fill] knows.

const executeDescription = `Run a shell command ({shell}) and return its output and exit code. ` +
	`Each call is a new shell: cd and variables do not carry over, use workdir. {rules}{input} ` +
	`A command that outlasts its timeout runs on: use its process_id with {process_output} and {process_signal}, do not run it again. ` +
	`For servers, watchers and long jobs set run_in_background; wait with wait_for of {process_output}, not with sleep. ` +
	`pgrep -f xyz also finds its own shell: use pgrep -f '[x]yz'.`

const outputDescription = `Read what a process has printed and whether it has ended. ` +
	`Waits until it ends, wait_for matches, it listens on wait_for_port, or wait_timeout is over; the process runs on. ` +
	`Reading consumes nothing: since = the last next_offset gets only what is new. ` +
	`state: running, exited, or detached (the shell has ended, processes it started live on).`

const listDescription = `List processes with id, state, command, age and exit code: those that live, then those that have ended, background ones first.`

const signalDescription = `End or interrupt a process and all that it started; returns its state. ` +
	`Use terminate first, kill if it still runs. ` +
	`{process_output} still reads its output.`

const inputDescription = `Write to the stdin of a process that {execute} started with stdin "open" or "terminal", and return what it prints then. ` +
	`text is written as it is: end a line with \n, or on a terminal with keys ["enter"]. ` +
	`Returns once the program waits for input again or the output has been quiet for 300 ms; set wait_for if the answer takes longer to come. ` +
	`If the program shows a full screen, the result is that screen. ` +
	`Before the first text, end or control key, wait for the program's prompt with {process_output}: ` +
	`else wait_for matches that prompt and not the answer, and ctrl-d is lost.`

// Descriptions of arguments that not every Set has: notify_on if the manager has events, and
// the others with Options.Input.
const (
	notifyOnDescription = `In the background: be told of the first line that matches (RE2), not only of the end.`
	stdinDescription    = `open: {process_input} can write to stdin. terminal: the same on a terminal, for password prompts, line editing and full-screen programs. Default: empty. Best with run_in_background.`
	screenDescription   = `Return the terminal's screen instead of what was printed.`
)

// The arguments of the tools, as package arguments reads them. [kit.fill] completes a
// description, and leaves an argument out by completing it to "".

type executeArgs struct {
	Command         arguments.Text      `json:"command" description:"May have several lines." alias:"cmd,script,code,shell,bash,input"`
	Timeout         arguments.Duration  `json:"timeout,omitempty" description:"How long to wait in the foreground: \"30s\", \"5m\"; default {default}{max}." alias:"timeout_ms,timeout_seconds,wait,wait_timeout"`
	WorkDir         arguments.Text      `json:"workdir,omitempty" description:"Default: the session's." alias:"cwd,dir,directory,path,working_dir,working_directory"`
	MaxOutput       arguments.Tokens    `json:"max_output,omitempty" description:"Most tokens to return; default {tokens}. The rest can be read later." alias:"max_tokens,limit,max_output_tokens,head_limit"`
	RunInBackground arguments.Flag      `json:"run_in_background,omitempty" description:"Return at once with a process_id. Needs no &." alias:"background,is_background,detach,async"`
	NotifyOn        arguments.Text      `json:"notify_on,omitempty" description:"{notify_on}" alias:"notify,notify_when,notify_pattern"`
	Stdin           arguments.StdinKind `json:"stdin,omitempty" description:"{stdin}" enum:"open,terminal" alias:"input_mode,tty,pty,terminal,interactive"`
}

// processArgs are the arguments of every tool for one process.
type processArgs struct {
	ProcessID arguments.ProcessID `json:"process_id" description:"From {execute} or {process_list}." alias:"id,pid,process,shell_id,bash_id,background_process_id"`
}

type outputArgs struct {
	processArgs
	WaitTimeout arguments.Duration `json:"wait_timeout,omitempty" description:"How long to wait; default {default}{max}. \"0s\" returns at once." alias:"timeout,wait,timeout_ms,timeout_seconds"`
	Since       arguments.Offset   `json:"since,omitempty" description:"Read from this byte offset on: next_offset of an earlier result. Default 0." alias:"offset,from,start,next_offset"`
	MaxOutput   arguments.Tokens   `json:"max_output,omitempty" description:"As in {execute}." alias:"max_tokens,limit,max_output_tokens,head_limit"`
	WaitFor     arguments.Text     `json:"wait_for,omitempty" description:"Return as soon as a line from since on matches (RE2)." alias:"pattern,until,filter,regex,match"`
	WaitForPort arguments.Port     `json:"wait_for_port,omitempty" description:"Return as soon as it listens on this TCP port." alias:"port,until_listening,wait_port,listen"`
	Screen      arguments.Flag     `json:"screen,omitempty" description:"{screen}" alias:"show_screen,snapshot"`
}

type listArgs struct {
	Offset arguments.Offset `json:"offset,omitempty" description:"next_offset of a list shows what it omitted. Default 0." alias:"since,from,start,skip,next_offset"`
}

type signalArgs struct {
	processArgs
	Signal arguments.SignalName `json:"signal" description:"terminate: SIGTERM; interrupt: Ctrl-C (SIGINT); kill: SIGKILL." enum:"terminate,kill,interrupt" alias:"sig,action,type"`
}

type inputArgs struct {
	processArgs
	Text        arguments.Text     `json:"text,omitempty" description:"What to write, as it is." alias:"input,data,stdin,chars,content,line"`
	Keys        arguments.KeyList  `json:"keys,omitempty" description:"Keys to press after text, on a terminal only: {keys}." alias:"key,press,keystrokes,special_keys"`
	End         arguments.Flag     `json:"end,omitempty" description:"End the input after that (Ctrl-D on a terminal), and wait until the process has ended." alias:"eof,close,close_stdin,finish"`
	Secret      arguments.Flag     `json:"secret,omitempty" description:"For a password on a terminal: write only once the program has turned the echo off, else nothing is written." alias:"password,hidden,sensitive"`
	WaitFor     arguments.Text     `json:"wait_for,omitempty" description:"Return as soon as a line of what it prints then matches this regular expression (RE2)." alias:"pattern,until,filter,regex,match"`
	WaitTimeout arguments.Duration `json:"wait_timeout,omitempty" description:"How long to wait at most, such as \"30s\"; default {default}{max}." alias:"timeout,wait,timeout_ms,timeout_seconds"`
	Screen      arguments.Flag     `json:"screen,omitempty" description:"{screen}" alias:"show_screen,snapshot"`
}

// longest says in a description how long a wait may be.
func (k *kit) longest() string {
	if k.opts.MaxTimeout == noLimit {
		return ""
	}
	return ", at most " + wording.Duration(k.opts.MaxTimeout)
}

// fill puts the Set's own names and times, and what is known of the machine, into a
// description.
func (k *kit) fill(description string, on machine) string {
	usual, _ := k.allow(0)
	notifyOn, stdin, screen := notifyOnDescription, "", ""
	input := "No terminal, stdin is empty: use flags such as -y."
	if on.silent {
		notifyOn = ""
	}
	if k.opts.Input {
		stdin, screen = strings.ReplaceAll(stdinDescription, "{process_input}", k.names.input), screenDescription
		input = "stdin is empty unless you set stdin: prefer flags such as -y, and set it for a command that must be answered or driven with " + k.names.input + "."
	}
	return strings.NewReplacer(
		"{execute}", k.names.execute,
		"{process_output}", k.names.output,
		"{process_list}", k.names.list,
		"{process_signal}", k.names.signal,
		"{process_input}", k.names.input,
		"{shell}", spellShell(on.Shell),
		"{rules}", spellRules(on.Sandbox),
		"{input}", input,
		"{notify_on}", notifyOn,
		"{stdin}", stdin,
		"{screen}", screen,
		"{keys}", strings.Join(procmgr.KeyNames(), ", "),
		"{tokens}", strconv.Itoa(usual.bytes/tokenBytes),
		"{default}", wording.Duration(k.opts.DefaultTimeout),
		"{max}", k.longest(),
	).Replace(description)
}
