package toolset

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/invopop/jsonschema"

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

// The arguments of the tools. Each field's type is an [argument]. A field is
// required if its json tag has no omitempty. The tag description is for the
// model; [Set.fill] completes it. The tag enum lists the values, separated by
// commas. The tag alias lists wrong names that models use; the error for one of
// them gives the right name.

type executeArgs struct {
	Command         text     `json:"command" description:"May have several lines." alias:"cmd,script,code,shell,bash,input"`
	Timeout         duration `json:"timeout,omitempty" description:"How long to wait in the foreground: \"30s\", \"5m\"; default {default}{max}." alias:"timeout_ms,timeout_seconds,wait,wait_timeout"`
	WorkDir         text     `json:"workdir,omitempty" description:"Default: the session's." alias:"cwd,dir,directory,path,working_dir,working_directory"`
	MaxOutput       tokens   `json:"max_output,omitempty" description:"Most tokens to return; default {tokens}. The rest can be read later." alias:"max_tokens,limit,max_output_tokens,head_limit"`
	RunInBackground flag     `json:"run_in_background,omitempty" description:"Return at once with a background_process_id. Needs no &." alias:"background,is_background,detach,async"`
	NotifyOn        text     `json:"notify_on,omitempty" description:"In the background: be told of the first line that matches (RE2), not only of the end." alias:"notify,notify_when,notify_pattern"`
}

// processArgs are those of every tool for one process.
type processArgs struct {
	ProcessID processID `json:"process_id" description:"From {execute} or {process_list}." alias:"id,pid,process,shell_id,bash_id,background_process_id"`
}

type outputArgs struct {
	processArgs
	WaitTimeout duration `json:"wait_timeout,omitempty" description:"How long to wait; default {default}{max}. \"0s\" returns at once." alias:"timeout,wait,timeout_ms,timeout_seconds"`
	Since       offset   `json:"since,omitempty" description:"Read from this byte offset on: next_offset of an earlier result. Default 0." alias:"offset,from,start,next_offset"`
	MaxOutput   tokens   `json:"max_output,omitempty" description:"As in {execute}." alias:"max_tokens,limit,max_output_tokens,head_limit"`
	WaitFor     text     `json:"wait_for,omitempty" description:"Return as soon as a line from since on matches (RE2)." alias:"pattern,until,filter,regex,match"`
	WaitForPort port     `json:"wait_for_port,omitempty" description:"Return as soon as it listens on this TCP port." alias:"port,until_listening,wait_port,listen"`
}

type listArgs struct {
	Offset offset `json:"offset,omitempty" description:"next_offset of a list shows what it omitted. Default 0." alias:"since,from,start,skip,next_offset"`
}

type signalArgs struct {
	processArgs
	Signal signalName `json:"signal" description:"terminate: SIGTERM; interrupt: Ctrl-C (SIGINT); kill: SIGKILL." enum:"terminate,kill,interrupt" alias:"sig,action,type"`
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
		"{tokens}", s.defaultTokens(),
		"{default}", wording.Duration(s.opts.DefaultTimeout),
		"{max}", s.longest(),
	).Replace(description)
}

// schema returns the JSON schema of a struct of arguments. It leaves out the
// keywords that some providers refuse: $schema, $id and $ref.
func (s *Set) schema(arguments any) json.RawMessage {
	reflector := jsonschema.Reflector{
		Anonymous:      true,
		DoNotReference: true,
		ExpandedStruct: true,
		LookupComment: func(t reflect.Type, name string) string {
			field, _ := t.FieldByName(name)
			return s.fill(field.Tag.Get("description"))
		},
		// A duration is a string to the model, because a number has no unit,
		// and so is a number of tokens, because it may have one.
		Mapper: func(t reflect.Type) *jsonschema.Schema {
			switch t {
			case reflect.TypeFor[duration](), reflect.TypeFor[tokens]():
				return &jsonschema.Schema{Type: "string"}
			case reflect.TypeFor[keyList]():
				return &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string"}}
			}
			return nil
		},
	}
	t := reflect.TypeOf(arguments)
	schema := reflector.ReflectFromType(t)
	schema.Version = ""
	for _, field := range argumentsOf(t) {
		for value := range strings.SplitSeq(field.Tag.Get("enum"), ",") {
			if value == "" {
				continue
			}
			if property, ok := schema.Properties.Get(fieldName(field)); ok {
				property.Enum = append(property.Enum, value)
			}
		}
	}
	data, err := json.Marshal(schema)
	if err != nil {
		panic("toolset: the schema of " + t.Name() + ": " + err.Error()) // the structs above are all there are
	}
	return data
}

// argumentsOf returns the fields of a struct of arguments, with those of the
// struct that it embeds in its place. The caller does not change them.
func argumentsOf(t reflect.Type) []reflect.StructField {
	if fields, ok := knownArguments.Load(t); ok {
		return fields.([]reflect.StructField)
	}
	fields := slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.Anonymous })
	knownArguments.Store(t, fields)
	return fields
}

// knownArguments has what argumentsOf has returned, by the type: each call of a
// tool asks for it, and to look through a struct takes longer than all else that
// the call does with its arguments.
var knownArguments sync.Map

// fieldName returns the name by which a model knows a field.
func fieldName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

// required reports whether the model must send a field.
func required(field reflect.StructField) bool {
	return !strings.HasSuffix(field.Tag.Get("json"), ",omitempty")
}
