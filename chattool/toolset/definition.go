package toolset

import (
	"encoding/json"
	"strings"

	"github.com/toolproc/toolproc/chattool/toolset/internal/arguments"
	"github.com/toolproc/toolproc/chattool/toolset/internal/wording"
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

// shellMark stands for the shell in a description until one is known.
const shellMark = "{shell}"

const (
	executeDescription      = executeBegins + `No terminal, stdin is empty: use flags such as -y. ` + executeEnds
	executeInputDescription = executeBegins + `stdin is empty unless you set stdin: prefer flags such as -y, and set it for a command that must be answered or driven with {process_input}. ` + executeEnds
)

const executeBegins = `Run a shell command (` + shellMark + `) and return its output and exit code. ` +
	`Each call is a new shell: cd and variables do not carry over, use workdir. `

const executeEnds = `A command that outlasts its timeout runs on: use its background_process_id with {process_output} and {process_signal}, do not run it again. ` +
	`For servers, watchers and long jobs set run_in_background; wait with wait_for of {process_output}, not with sleep.`

const outputDescription = `Read what a process has printed and whether it has ended. ` +
	`Waits until it ends, wait_for matches, it listens on wait_for_port, or wait_timeout is over; the process runs on. ` +
	`Reading consumes nothing: since = the last next_offset gets only what is new. ` +
	`state: running, exited, or detached (the shell has ended, processes it started live on).`

const listDescription = `List processes with id, state, command, age and exit code: those that live, then those that have ended, background ones first.`

const signalDescription = `End or interrupt a process and all that it started; returns its state. ` +
	`Use terminate first, kill if it still runs. ` +
	`{process_output} still reads its output.`

// The arguments of the tools, as package arguments reads them. [Set.fill]
// completes a description.

type executeArgs struct {
	Command         arguments.Text     `json:"command" description:"May have several lines." alias:"cmd,script,code,shell,bash,input"`
	Timeout         arguments.Duration `json:"timeout,omitempty" description:"How long to wait in the foreground: \"30s\", \"5m\"; default {default}{max}." alias:"timeout_ms,timeout_seconds,wait,wait_timeout"`
	WorkDir         arguments.Text     `json:"workdir,omitempty" description:"Default: the session's." alias:"cwd,dir,directory,path,working_dir,working_directory"`
	MaxOutput       arguments.Tokens   `json:"max_output,omitempty" description:"Most tokens to return; default {tokens}. The rest can be read later." alias:"max_tokens,limit,max_output_tokens,head_limit"`
	RunInBackground arguments.Flag     `json:"run_in_background,omitempty" description:"Return at once with a background_process_id. Needs no &." alias:"background,is_background,detach,async"`
	NotifyOn        arguments.Text     `json:"notify_on,omitempty" description:"In the background: be told of the first line that matches (RE2), not only of the end." alias:"notify,notify_when,notify_pattern"`
}

// processArgs are those of every tool for one process.
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
}

type listArgs struct {
	Offset arguments.Offset `json:"offset,omitempty" description:"next_offset of a list shows what it omitted. Default 0." alias:"since,from,start,skip,next_offset"`
}

type signalArgs struct {
	processArgs
	Signal arguments.SignalName `json:"signal" description:"terminate: SIGTERM; interrupt: Ctrl-C (SIGINT); kill: SIGKILL." enum:"terminate,kill,interrupt" alias:"sig,action,type"`
}

// longest says in a description how long a wait may be.
func (s *Set) longest() string {
	if s.opts.MaxTimeout == noLimit {
		return ""
	}
	return ", at most " + wording.Duration(s.opts.MaxTimeout)
}

// fill puts the Set's own names and times into a description.
func (s *Set) fill(description string) string {
	return strings.NewReplacer(
		"{execute}", s.names.execute,
		"{process_output}", s.names.output,
		"{process_list}", s.names.list,
		"{process_signal}", s.names.signal,
		"{process_input}", s.names.input,
		"{keys}", strings.Join(procmgr.KeyNames(), ", "),
		"{tokens}", s.page.ByDefault(),
		"{default}", wording.Duration(s.opts.DefaultTimeout),
		"{max}", s.longest(),
	).Replace(description)
}
