package main

import (
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/toolproc/toolproc/chattool/toolset"
)

// structuredContent is the structured content of a result: the facts of its Report, for a
// program. The text beside it is for the model, and has the same facts.
type structuredContent struct {
	Success bool   `json:"success" jsonschema:"false if the command has failed, or not ended within its timeout"`
	Error   string `json:"error,omitempty" jsonschema:"what went wrong, if the exit code does not say it"`
	Denied  bool   `json:"denied,omitempty" jsonschema:"whether a person denied the call, so that nothing was done"`

	ProcessID  string  `json:"process_id,omitempty" jsonschema:"the process, while it lives or may live"`
	State      string  `json:"state,omitempty" jsonschema:"running, detached or exited"`
	ExitCode   *int    `json:"exit_code,omitempty" jsonschema:"absent while it is not known"`
	Signal     string  `json:"signal,omitempty" jsonschema:"such as SIGKILL, if a signal ended the shell"`
	Seconds    float64 `json:"seconds,omitempty" jsonschema:"how long the process ran, or has run so far"`
	WorkDir    string  `json:"workdir,omitempty" jsonschema:"its directory, if it is another one than in the result before"`
	Waiting    bool    `json:"waiting_for_input,omitempty" jsonschema:"whether a program waits for input"`
	LogPath    string  `json:"log_path,omitempty" jsonschema:"a file with all of the output"`
	NextOffset *int64  `json:"next_offset,omitempty" jsonschema:"the offset that reads on from here"`

	Output       *string  `json:"output,omitempty" jsonschema:"the output as the model reads it; absent if the call reads none, or says what differs from an earlier one"`
	OmittedBytes int64    `json:"omitted_bytes,omitempty" jsonschema:"how many bytes output leaves out"`
	OmittedMore  bool     `json:"omitted_more,omitempty" jsonschema:"whether it leaves out more, and it is unknown how much"`
	Notes        []string `json:"notes,omitempty" jsonschema:"what to know and what to do next"`
	Meanwhile    []string `json:"meanwhile,omitempty" jsonschema:"what has become of other processes"`

	Processes []processEntry `json:"processes,omitempty" jsonschema:"the processes of a list"`
	Omitted   int            `json:"omitted,omitempty" jsonschema:"how many more processes follow"`
}

// A processEntry is a process of a list.
type processEntry struct {
	ID       string `json:"process_id"`
	Command  string `json:"command"`
	State    string `json:"state"`
	ExitCode *int   `json:"exit_code,omitempty"`
	Signal   string `json:"signal,omitempty"`
}

// structuredSchema is the schema of every structured. What it lacks may be there: a
// later version may say more.
var structuredSchema = func() *jsonschema.Schema {
	schema, err := jsonschema.For[structuredContent](nil)
	if err != nil {
		panic("mcp: the schema of a result: " + err.Error()) // it depends on the types above alone
	}
	schema.AdditionalProperties = nil
	schema.Properties["processes"].Items.AdditionalProperties = nil
	return schema
}()

func structuredOf(r toolset.Report) structuredContent {
	s := structuredContent{
		Success: r.Success, Error: r.Error, Denied: r.Denied,
		ProcessID: r.ProcessID, State: string(r.State), ExitCode: r.ExitCode, Signal: r.Signal, Seconds: r.Duration.Round(time.Millisecond).Seconds(),
		WorkDir: r.WorkDir, Waiting: r.Waiting != nil, LogPath: r.LogPath, NextOffset: r.NextOffset,
		Output: r.Output, Notes: r.Notes, Meanwhile: r.Meanwhile, Omitted: r.Omitted,
	}
	if r.Truncated != nil {
		s.OmittedBytes, s.OmittedMore = r.Truncated.OmittedBytes, r.Truncated.Unknown
	}
	for _, p := range r.Processes {
		s.Processes = append(s.Processes, processEntry{ID: p.ID, Command: p.Command, State: string(p.State), ExitCode: p.ExitCode, Signal: p.Signal})
	}
	return s
}
