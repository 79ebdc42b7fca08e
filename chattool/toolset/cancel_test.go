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

// A stop ends the command, and says what became of it, whatever Start returned by then.
// A deadline of the caller ends no process: the result is a timeout.
func TestExecuteCutShort(t *testing.T) {
	t.Parallel()
	var (
		term     = []procmgr.Signal{"terminate"}
		both     = []procmgr.Signal{"terminate", "kill"}
		canceled = context.Canceled
		overdue  = context.DeadlineExceeded
		noRoute  = errors.New("no route")
		only     = procmgr.Output{Process: procmgr.Process{ID: "p1"}} // all that is known of a start whose answer was lost
		early    = running("p1", "early")
		soFar    = running("p1", "so far")
		ended    = exited("p1", 143, "x")
	)
	for _, tt := range []struct {
		name       string
		startOut   procmgr.Output
		startErr   error
		out        procmgr.Output // of each read, or of each after Kill
		outErr     error
		signalErr  error
		signals    []procmgr.Signal
		success    bool
		id, want   string
		stubborn   bool // it runs on until Kill
		background bool
		deadline   bool
	}{
		{name: "stopped", startOut: early, startErr: canceled, out: ended, signals: term, want: "the call was canceled; the command was stopped"},
		{name: "no error but canceled", startOut: early, out: ended, signals: term, want: "the command was stopped"},
		{name: "ended in the same moment", startOut: exited("p1", 0, "done"), success: true, want: "done"},
		{name: "detached in the same moment", startOut: detached("p1", 0, "done"), success: true, id: "p1", want: "done"},
		{name: "start never answered", startErr: canceled, out: ended, signals: term, want: "the command was stopped"},
		{name: "start was prevented", startErr: canceled, signalErr: procmgr.ErrNotFound, signals: term, want: "the command was not started"},
		{name: "the server was replaced", startErr: canceled, signalErr: errors.Join(procmgr.ErrNotFound, procmgr.ErrUnknown), signals: term, id: "p1", want: "unknown whether the command ran"},
		{name: "unknown", startErr: procmgr.ErrUnknown, signalErr: procmgr.ErrNotFound, signals: term, id: "p1", want: "unknown whether the command ran"},
		{name: "over before", startErr: canceled, signalErr: procmgr.ErrNotRunning, out: ended, signals: term, want: "had ended by then"},
		{name: "over before and unreadable", startErr: canceled, signalErr: procmgr.ErrNotRunning, outErr: noRoute, signals: term, want: "had ended by then"},
		{name: "ignores terminate", startErr: canceled, stubborn: true, out: exited("p1", 137, "late"), signals: both, want: "was killed, since it did not end"},
		{name: "survives", startErr: canceled, out: early, signals: both, id: "p1", want: "could not be stopped"},
		{name: "start was refused on the way", startErr: canceled, signalErr: noRoute, signals: term, want: "the command was not started"},
		{name: "manager gone", startOut: only, startErr: canceled, signalErr: noRoute, outErr: noRoute, signals: both, id: "p1", want: "may still run, as process p1: no route"},
		{name: "manager gone after the start", startOut: early, startErr: canceled, signalErr: noRoute, outErr: noRoute, signals: both, id: "p1", want: "early"},
		{name: "killed and unreadable", startErr: canceled, outErr: noRoute, signals: both, want: "the command was killed"},
		{name: "refused", startErr: procmgr.ErrLimit, want: "nothing was started"},

		{name: "background", background: true, startErr: canceled, out: early, id: "p1", want: "in the background, as process p1, and left alone"},
		{name: "background and unreadable", background: true, startOut: early, startErr: canceled, outErr: noRoute, id: "p1", want: "in the background, as process p1, and left alone"},
		{name: "background that was refused on the way", background: true, startErr: canceled, outErr: noRoute, want: "the command was not started"},
		{name: "background that was not seen", background: true, startOut: only, startErr: canceled, outErr: procmgr.ErrNotFound, id: "p1", want: "was not seen to start"},
		{name: "background and nothing known", background: true, startOut: only, startErr: canceled, outErr: noRoute, id: "p1", want: "may have started"},

		{name: "deadline", deadline: true, startOut: early, startErr: overdue, out: soFar, id: "p1", want: "still running when the call ran out of time; nothing was killed"},
		{name: "deadline as the wait ends", deadline: true, startOut: soFar, id: "p1", want: "still running when the call ran out of time; nothing was killed"},
		{name: "deadline, and the answer was lost", deadline: true, startOut: only, startErr: overdue, out: soFar, id: "p1", want: `process_output {\"process_id\":\"p1\",\"since\":6`},
		{name: "deadline, and it has ended meanwhile", deadline: true, startOut: early, startErr: overdue, out: exited("p1", 0, "all"), success: true, want: `"output":"all"`},
		{name: "deadline, and it cannot be read any more", deadline: true, startOut: early, startErr: overdue, outErr: noRoute, id: "p1", want: `"output":"early"`},
		{name: "deadline on its way", deadline: true, startOut: only, startErr: overdue, outErr: procmgr.ErrNotFound, id: "p1", want: "before it was known whether the command has started"},
		{name: "deadline, and nobody knows", deadline: true, startErr: procmgr.ErrUnknown, outErr: noRoute, id: "p1", want: "before it was known whether the command has started"},
		{name: "deadline of a careless manager", deadline: true, startErr: overdue, out: soFar, id: "p1", want: "still running when the call ran out of time"},
		{name: "deadline before it was sent", deadline: true, startErr: overdue, outErr: noRoute, want: "the call ran out of time; nothing was started"},
		{name: "deadline in the background", deadline: true, background: true, startOut: only, startErr: overdue, out: soFar, success: true, id: "p1", want: "Runs in the background as process p1"},
	} {
		t.Run(tt.name, inFakeTime(func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(context.WithValue(t.Context(), chatKey{}, "chat"), soon, errors.New("tea"))
			defer cancel()
			live := func(ctx context.Context, id string) {
				_, bounded := ctx.Deadline()
				if ctx.Err() != nil || !bounded || ctx.Value(chatKey{}) != "chat" || id != "p1" {
					t.Error("what follows has a context that is dead, without a bound or without its values, or is for another process")
				}
			}
			m := &fake{}
			m.start = func(context.Context, procmgr.StartRequest) (procmgr.Output, error) {
				if !tt.deadline {
					cancel()
				}
				<-ctx.Done()
				return tt.startOut, tt.startErr
			}
			m.output = func(ctx context.Context, id string, _ procmgr.OutputRequest) (procmgr.Output, error) {
				live(ctx, id)
				if tt.stubborn && len(m.signals) < 2 {
					return running(id, "busy"), nil
				}
				return tt.out, tt.outErr
			}
			m.signal = func(ctx context.Context, id string, _ procmgr.Signal) error {
				live(ctx, id)
				return tt.signalErr
			}
			res, got := callContext(ctx, t, m, fixed(), "execute", arguments(t, "command", "x", "timeout", "1h", "run_in_background", tt.background))
			require.Equal(t, tt.id != "" && res.Report.State == "", res.Report.Unknown)
			require.Equal(t, tt.name == "refused", res.IsError)
			require.Equal(t, tt.success, got["success"])
			require.Contains(t, res.Content, tt.want)
			require.Equal(t, tt.signals, m.signals)
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

// A call that is cut short, or late already, ends nothing, and says how to go on.
func TestCutShort(t *testing.T) {
	t.Parallel()
	const read, kill = `{"process_id":"p1"}`, `{"process_id":"p1","signal":"kill"}`
	for _, tt := range []struct {
		name, tool, arguments string
		deadline, late        bool
		err                   error
		want                  string
	}{
		{"output, canceled", "process_output", read, false, false, nil, "the call was canceled; process p1 was left alone"},
		{"output, canceled with an error", "process_output", read, false, false, context.Canceled, "the call was canceled; process p1 was left alone"},
		{"output, deadline", "process_output", read, true, false, nil, "the call ran out of time; process p1 was left alone"},
		{"output, deadline with an error", "process_output", read, true, false, context.DeadlineExceeded, "the call ran out of time; process p1 was left alone"},
		{"signal, canceled", "process_signal", kill, false, false, context.Canceled, "unknown whether the signal was sent"},
		{"output, late", "process_output", read, true, true, context.DeadlineExceeded, "process p1 was left alone"},
		{"signal, late", "process_signal", kill, true, true, nil, "no signal was sent"},
		{"list, late", "process_list", ``, true, true, nil, "nothing was listed"},
		{"execute, late", "execute", `{"command":"x"}`, true, true, nil, "the call ran out of time; nothing was started"},
	} {
		t.Run(tt.name, inFakeTime(func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), soon)
			defer cancel()
			if tt.late {
				<-ctx.Done()
			}
			cut := func(ctx context.Context) error {
				if !tt.deadline {
					cancel()
				}
				<-ctx.Done()
				return tt.err
			}
			m := &fake{
				list:   func(ctx context.Context) ([]procmgr.Process, error) { return nil, ctx.Err() },
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
			require.Equal(t, tt.name == "signal, canceled", res.Report.Unknown)
			require.Equal(t, false, got["success"])
			require.Contains(t, got["error"], tt.want)
			require.Empty(t, m.starts)
			require.Equal(t, tt.name == "signal, canceled", len(m.signals) > 0)
			if tt.tool == "process_output" {
				require.Equal(t, "so far", got["output"])
				require.Equal(t, tt.deadline, got["note"] == `Use process_output {"process_id":"p1","since":6} to wait on.`)
			}
		}))
	}
}
