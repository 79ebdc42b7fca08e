package toolset

import (
	"bytes"
	"cmp"
	"context"

	"github.com/toolproc/toolproc/chattool/arguments"
	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

// A Question is what Options.Approve is asked before a call changes something.
// Call.Name says which tool it is, by the host's name for it. All of it is the
// callee's to keep.
type Question struct {
	// Call is the call as the model made it. Of a secret input, Arguments are
	// without the text.
	Call Call
	// Command is the command as it will run: if execute takes a trailing & off,
	// without the &. For process_input it is the text that will be typed, or ""
	// if the text is secret. For process_signal it is "".
	Command string
	// Shell is the base name of the shell that reads Command, such as "bash", or ""
	// if it isn't known. A policy that wants to know what Command runs parses it in
	// that shell's language.
	Shell string
	// WorkDir is the directory that the call names, or "" for the default.
	WorkDir string
	// ProcessID is the process that gets the input or the signal. It is "" for
	// execute.
	ProcessID string
	// Keys are the keys that process_input will press after the text.
	Keys []procmgr.Key
	// Secret says that process_input types a secret.
	Secret bool
	// Description is the argument description of the call: what the model says that it
	// is for. It proves nothing.
	Description string
	// Machine describes the manager, as far as it is known.
	Machine procmgr.Description
}

// A Verdict is an answer to a Question. The zero value allows.
type Verdict struct {
	Deny bool
	// Reason says to the model why it was denied. It may be "".
	Reason string
}

// ask asks Options.Approve about a call. If ok is false, the call must do
// nothing, and the report says so. undone says what was not done, as in
// "nothing was started".
func (k *kit) ask(ctx context.Context, m procmgr.Manager, q Question, undone string) (rep report, ok bool) {
	if k.opts.Approve == nil {
		return rep, true
	}
	q.Call.Arguments = bytes.Clone(q.Call.Arguments)
	q.Machine, q.Description = k.machines.describe(ctx, m), arguments.Description(q.Call.Arguments)
	q.Shell = cmp.Or(k.opts.Shell, q.Machine.Shell)
	var v Verdict
	err := survive(func() (err error) {
		v, err = k.opts.Approve(ctx, q)
		return err
	})
	switch {
	case ctx.Err() != nil:
		v.Reason = endOf(ctx) + " before it was allowed"
	case err != nil:
		v.Reason = "it could not be decided: " + procmgr.Reason(err)
	case !v.Deny:
		return rep, true
	}
	rep.Denied, rep.Error = true, "denied: "
	if v.Reason != "" {
		rep.Error += wording.Sentence(wording.Clip(v.Reason, wording.MaxWords)) + " "
	}
	rep.Error += undone + ": do not look for a way around it; tell the user if the task needs it"
	return rep, false
}
