package toolset_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

type chatKey struct{}

func TestExecuteCanceled(t *testing.T) {
	t.Parallel()
	type output = func(context.Context, string, procmgr.OutputRequest) (procmgr.Output, error)
	fails := func(err error) output {
		return func(context.Context, string, procmgr.OutputRequest) (procmgr.Output, error) {
			return procmgr.Output{}, err
		}
	}
	only := procmgr.Output{Process: procmgr.Process{ID: "p1"}} // all that is known of a start whose answer was lost
	// A process that goes on until it is killed, or has gone on when asked.
	stubborn := func(f *fake) output {
		return func(_ context.Context, id string, _ procmgr.OutputRequest) (procmgr.Output, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if len(f.signals) > 1 {
				return exited(id, 137, "late"), nil
			}
			return running(id, "busy"), nil
		}
	}
	for _, tt := range []struct {
		name, arguments string
		startOut        procmgr.Output
		startErr        error
		output          output
		stubborn        bool
		signalErr       error
		signals         []procmgr.Signal
		success         bool
		id, want        string
	}{
		{name: "stopped", startOut: running("p1", ""), startErr: context.Canceled, output: answerOutput(exited("p1", 143, "x")),
			signals: []procmgr.Signal{"terminate"}, want: "the call was canceled; the command was stopped"},
		{name: "no error but canceled", startOut: running("p1", ""), output: answerOutput(exited("p1", 143, "x")),
			signals: []procmgr.Signal{"terminate"}, want: "the command was stopped"},
		{name: "ended in the same moment", startOut: exited("p1", 0, "done"), success: true, want: "done"},
		{name: "detached in the same moment", startOut: detached("p1", 0, "done"), success: true, id: "p1", want: "done"},
		{name: "start never answered", startErr: context.Canceled, output: answerOutput(exited("p1", 143, "")),
			signals: []procmgr.Signal{"terminate"}, want: "the command was stopped"},
		{name: "start was prevented", startErr: context.Canceled, signalErr: procmgr.ErrNotFound,
			signals: []procmgr.Signal{"terminate"}, want: "the command was not started"},
		{name: "the server was replaced", startErr: context.Canceled, signalErr: errors.Join(procmgr.ErrNotFound, procmgr.ErrUnknown),
			signals: []procmgr.Signal{"terminate"}, id: "p1", want: "unknown whether the command ran"},
		{name: "unknown", startErr: procmgr.ErrUnknown, signalErr: procmgr.ErrNotFound,
			signals: []procmgr.Signal{"terminate"}, id: "p1", want: "unknown whether the command ran"},
		{name: "over before", startErr: context.Canceled, signalErr: procmgr.ErrNotRunning, output: answerOutput(exited("p1", 0, "all")),
			signals: []procmgr.Signal{"terminate"}, want: "had ended by then"},
		{name: "over before and unreadable", startErr: context.Canceled, signalErr: procmgr.ErrNotRunning, output: fails(errors.New("no")),
			signals: []procmgr.Signal{"terminate"}, want: "had ended by then"},
		{name: "ignores terminate", startErr: context.Canceled, stubborn: true,
			signals: []procmgr.Signal{"terminate", "kill"}, want: "was killed, since it did not end"},
		{name: "survives", startErr: context.Canceled, output: answerOutput(running("p1", "busy")),
			signals: []procmgr.Signal{"terminate", "kill"}, id: "p1", want: "could not be stopped"},
		{name: "start was refused on the way", startErr: context.Canceled, signalErr: errors.New("no route"),
			signals: []procmgr.Signal{"terminate"}, want: "the command was not started"},
		{name: "manager gone", startOut: only, startErr: context.Canceled, signalErr: errors.New("no route"), output: fails(errors.New("no")),
			signals: []procmgr.Signal{"terminate", "kill"}, id: "p1", want: "may still run, as process p1: no route"},
		{name: "manager gone after the start", startOut: running("p1", "early"), startErr: context.Canceled, signalErr: errors.New("no route"), output: fails(errors.New("no")),
			signals: []procmgr.Signal{"terminate", "kill"}, id: "p1", want: "early"},
		{name: "killed and unreadable", startErr: context.Canceled, output: fails(errors.New("no")),
			signals: []procmgr.Signal{"terminate", "kill"}, want: "the command was killed"},
		{name: "background", arguments: `{"command":"x","run_in_background":true}`, startErr: context.Canceled, output: answerOutput(running("p1", "x")),
			id: "p1", want: "in the background, as process p1, and left alone"},
		{name: "background and unreadable", arguments: `{"command":"x &"}`, startOut: running("p1", "x"), startErr: context.Canceled, output: fails(errors.New("no")),
			id: "p1", want: "in the background, as process p1, and left alone"},
		{name: "background that was refused on the way", arguments: `{"command":"x &"}`, startErr: context.Canceled, output: fails(errors.New("no")),
			want: "the command was not started"},
		{name: "background that was not seen", arguments: `{"command":"x &"}`, startOut: only, startErr: context.Canceled, output: fails(procmgr.ErrNotFound),
			id: "p1", want: "was not seen to start"},
		{name: "background and nothing known", arguments: `{"command":"x &"}`, startOut: only, startErr: context.Canceled, output: fails(errors.New("no")),
			id: "p1", want: "may have started"},
		{name: "refused", startErr: procmgr.ErrLimit, want: "nothing was started"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(context.WithValue(t.Context(), chatKey{}, "chat"))
			defer cancel(nil)
			m := &fake{}
			live := func(ctx context.Context) {
				if ctx.Err() != nil || ctx.Value(chatKey{}) != "chat" {
					t.Error("a canceled call goes on with a context that is dead or has lost its values")
				}
				if _, bounded := ctx.Deadline(); !bounded {
					t.Error("a canceled call goes on without a bound")
				}
			}
			m.start = func(context.Context, procmgr.StartRequest) (procmgr.Output, error) {
				cancel(errors.New("tea"))
				return tt.startOut, tt.startErr
			}
			read := tt.output
			if tt.stubborn {
				read = stubborn(m)
			}
			m.output = func(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
				live(ctx)
				require.Equal(t, "p1", id)
				return read(ctx, id, req)
			}
			m.signal = func(ctx context.Context, id string, _ procmgr.Signal) error {
				live(ctx)
				require.Equal(t, "p1", id)
				return tt.signalErr
			}
			arguments := tt.arguments
			if arguments == "" {
				arguments = `{"command":"x"}`
			}
			res, got := callContext(ctx, t, m, fixed(), "execute", arguments)
			require.Equal(t, tt.id != "" && res.Report.State == "", res.Report.Unknown)
			require.Equal(t, tt.name == "refused", res.IsError)
			require.Equal(t, tt.success, got["success"])
			require.Contains(t, res.Content, tt.want)
			require.Equal(t, tt.signals, m.signals)
			id, _ := got["process_id"].(string)
			require.Equal(t, tt.id, id)
		})
	}
}

func TestCanceledBefore(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for _, tt := range []struct{ name, tool, arguments, want string }{
		{"execute", "execute", `{"command":"x"}`, "the call ran out of time; nothing was started"},
		{"process_signal", "process_signal", `{"process_id":"p","signal":"kill"}`, "no signal was sent"},
		{"process_list", "process_list", ``, "nothing was listed"},
		{"process_output", "process_output", `{"process_id":"p"}`, "process p was left alone"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := &fake{
				list: func(ctx context.Context) ([]procmgr.Process, error) { return nil, ctx.Err() },
				output: func(ctx context.Context, id string, _ procmgr.OutputRequest) (procmgr.Output, error) {
					return running(id, ""), ctx.Err()
				},
			}
			res, got := callContext(ctx, t, m, fixed(), tt.tool, tt.arguments)
			require.False(t, res.IsError)
			require.False(t, res.Report.Unknown)
			require.Equal(t, false, got["success"])
			require.Contains(t, got["error"], tt.want)
			require.Empty(t, m.starts)
			require.Empty(t, m.signals)
		})
	}
}

// A deadline of the caller ends no process. The result is a timeout, whatever Start
// returned by then.
func TestExecuteDeadline(t *testing.T) {
	t.Parallel()
	only := procmgr.Output{Process: procmgr.Process{ID: "p1"}} // all that is known of a start whose answer was lost
	for _, tt := range []struct {
		name, arguments string
		startOut        procmgr.Output
		startErr        error
		out             procmgr.Output
		outErr          error
		success         bool
		id, want        string
	}{
		{name: "while it waits", startOut: running("p1", ""), startErr: context.DeadlineExceeded, out: running("p1", "so far"),
			id: "p1", want: "still running when the call ran out of time; nothing was killed"},
		{name: "as the wait ends", startOut: running("p1", "so far"),
			id: "p1", want: "still running when the call ran out of time; nothing was killed"},
		{name: "the answer was lost", startOut: only, startErr: context.DeadlineExceeded, out: running("p1", "so far"),
			id: "p1", want: `process_output {\"process_id\":\"p1\",\"since\":6`},
		{name: "it has ended meanwhile", startOut: running("p1", ""), startErr: context.DeadlineExceeded, out: exited("p1", 0, "all"),
			success: true, want: `"output":"all"`},
		{name: "it cannot be read any more", startOut: running("p1", "early"), startErr: context.DeadlineExceeded, outErr: errors.New("no route"),
			id: "p1", want: `"output":"early"`},
		{name: "on its way", startOut: only, startErr: context.DeadlineExceeded, outErr: procmgr.ErrNotFound,
			id: "p1", want: "before it was known whether the command has started"},
		{name: "nobody knows", startErr: procmgr.ErrUnknown, outErr: errors.New("no route"),
			id: "p1", want: "before it was known whether the command has started"},
		{name: "a careless manager", startErr: context.DeadlineExceeded, out: running("p1", "so far"),
			id: "p1", want: "still running when the call ran out of time"},
		{name: "never sent", startErr: context.DeadlineExceeded, outErr: errors.New("no route"),
			want: "the call ran out of time; nothing was started"},
		{name: "background", arguments: `{"command":"x","run_in_background":true}`, startOut: only, startErr: context.DeadlineExceeded, out: running("p1", "so far"),
			success: true, id: "p1", want: "Runs in the background as process p1"},
	} {
		t.Run(tt.name, inFakeTime(func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(context.WithValue(t.Context(), chatKey{}, "chat"), soon, errors.New("tea"))
			defer cancel()
			m := &fake{
				start: func(ctx context.Context, _ procmgr.StartRequest) (procmgr.Output, error) {
					<-ctx.Done()
					return tt.startOut, tt.startErr
				},
				output: func(ctx context.Context, _ string, _ procmgr.OutputRequest) (procmgr.Output, error) {
					_, bounded := ctx.Deadline()
					if ctx.Err() != nil || !bounded || ctx.Value(chatKey{}) != "chat" {
						t.Error("what follows a deadline has a context that is dead, without a bound or without its values")
					}
					return tt.out, tt.outErr
				},
			}
			arguments := tt.arguments
			if arguments == "" {
				arguments = `{"command":"x","timeout":"1h"}`
			}
			res, got := callContext(ctx, t, m, fixed(), "execute", arguments)
			require.Equal(t, tt.id != "" && res.Report.State == "", res.Report.Unknown)
			require.Empty(t, m.signals, "nothing is ended")
			require.False(t, res.IsError)
			require.Equal(t, tt.success, got["success"])
			require.Contains(t, res.Content, tt.want)
			id, _ := got["process_id"].(string)
			require.Equal(t, tt.id, id)
		}))
	}
}

// soon is a deadline that passes during a call.
const soon = 20 * time.Millisecond

// inFakeTime makes a test in which a deadline passes as soon as all goroutines
// wait for it, however busy the machine is.
func inFakeTime(test func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, test)
	}
}

// A read or a signal that is cut short ends nothing, and says how to go on.
func TestCutShort(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, tool, arguments string
		deadline              bool
		err                   error
		want                  string
	}{
		{"output, canceled", "process_output", `{"process_id":"p1"}`, false, nil, "the call was canceled; process p1 was left alone"},
		{"output, canceled with an error", "process_output", `{"process_id":"p1"}`, false, context.Canceled, "the call was canceled; process p1 was left alone"},
		{"output, deadline", "process_output", `{"process_id":"p1"}`, true, nil, "the call ran out of time; process p1 was left alone"},
		{"output, deadline with an error", "process_output", `{"process_id":"p1"}`, true, context.DeadlineExceeded, "the call ran out of time; process p1 was left alone"},
		{"signal, canceled", "process_signal", `{"process_id":"p1","signal":"kill"}`, false, context.Canceled, "unknown whether the signal was sent"},
	} {
		t.Run(tt.name, inFakeTime(func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			defer cancel()
			cut := func(ctx context.Context) error {
				if !tt.deadline {
					cancel()
				}
				<-ctx.Done()
				return tt.err
			}
			m := &fake{
				signal: func(ctx context.Context, _ string, _ procmgr.Signal) error { return cut(ctx) },
				output: func(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
					if req.Wait > 0 {
						return running(id, "so far"), cut(ctx)
					}
					return running(id, "so far"), ctx.Err()
				},
			}
			res, got := callContext(ctx, t, m, nil, tt.tool, tt.arguments)
			require.False(t, res.IsError)
			require.Equal(t, tt.tool == "process_signal", res.Report.Unknown)
			require.Equal(t, false, got["success"])
			require.Contains(t, got["error"], tt.want)
			if tt.tool == "process_output" {
				require.Empty(t, m.signals)
				require.Equal(t, "so far", got["output"])
				require.Equal(t, tt.deadline, got["note"] == `Use process_output {"process_id":"p1","since":6} to wait on.`)
			}
		}))
	}
}
