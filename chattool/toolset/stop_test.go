package toolset_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/toolproc/toolproc/procmgr"
)

type chatKey struct{}

func TestExecuteCanceled(t *testing.T) {
	t.Parallel()
	type output = func(context.Context, string, procmgr.OutputRequest) (procmgr.Output, error)
	answer := func(out procmgr.Output) output {
		return func(context.Context, string, procmgr.OutputRequest) (procmgr.Output, error) { return out, nil }
	}
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
		{name: "stopped", startOut: running("p1", ""), startErr: context.Canceled, output: answer(exited("p1", 143, "x")),
			signals: []procmgr.Signal{"terminate"}, want: "the call was canceled; the command was stopped"},
		{name: "no error but canceled", startOut: running("p1", ""), output: answer(exited("p1", 143, "x")),
			signals: []procmgr.Signal{"terminate"}, want: "the command was stopped"},
		{name: "ended in the same moment", startOut: exited("p1", 0, "done"), success: true, want: "done"},
		{name: "detached in the same moment", startOut: detached("p1", 0, "done"), success: true, id: "p1", want: "done"},
		{name: "start never answered", startErr: context.Canceled, output: answer(exited("p1", 143, "")),
			signals: []procmgr.Signal{"terminate"}, want: "the command was stopped"},
		{name: "start was prevented", startErr: context.Canceled, signalErr: procmgr.ErrNotFound,
			signals: []procmgr.Signal{"terminate"}, want: "the command was not started"},
		{name: "unknown", startErr: procmgr.ErrUnknown, signalErr: procmgr.ErrNotFound,
			signals: []procmgr.Signal{"terminate"}, id: "p1", want: "unknown whether the command ran"},
		{name: "over before", startErr: context.Canceled, signalErr: procmgr.ErrNotRunning, output: answer(exited("p1", 0, "all")),
			signals: []procmgr.Signal{"terminate"}, want: "had ended by then"},
		{name: "over before and unreadable", startErr: context.Canceled, signalErr: procmgr.ErrNotRunning, output: fails(errors.New("no")),
			signals: []procmgr.Signal{"terminate"}, want: "had ended by then"},
		{name: "ignores terminate", startErr: context.Canceled, stubborn: true,
			signals: []procmgr.Signal{"terminate", "kill"}, want: "was killed, since it did not end"},
		{name: "survives", startErr: context.Canceled, output: answer(running("p1", "busy")),
			signals: []procmgr.Signal{"terminate", "kill"}, id: "p1", want: "could not be stopped"},
		{name: "start was refused on the way", startErr: context.Canceled, signalErr: errors.New("no route"),
			signals: []procmgr.Signal{"terminate"}, want: "the command was not started"},
		{name: "manager gone", startOut: only, startErr: context.Canceled, signalErr: errors.New("no route"), output: fails(errors.New("no")),
			signals: []procmgr.Signal{"terminate", "kill"}, id: "p1", want: "may still run, as process p1: no route"},
		{name: "manager gone after the start", startOut: running("p1", "early"), startErr: context.Canceled, signalErr: errors.New("no route"), output: fails(errors.New("no")),
			signals: []procmgr.Signal{"terminate", "kill"}, id: "p1", want: "early"},
		{name: "killed and unreadable", startErr: context.Canceled, output: fails(errors.New("no")),
			signals: []procmgr.Signal{"terminate", "kill"}, want: "the command was killed"},
		{name: "background", arguments: `{"command":"x","run_in_background":true}`, startErr: context.Canceled, output: answer(running("p1", "x")),
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
			ctx, cancel := context.WithCancel(context.WithValue(t.Context(), chatKey{}, "chat"))
			defer cancel()
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
				cancel()
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
			require.Equal(t, tt.name == "refused", res.IsError)
			require.Equal(t, tt.success, got["success"])
			require.Contains(t, res.Content, tt.want)
			require.Equal(t, tt.signals, m.signals)
			id, _ := got["background_process_id"].(string)
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
			require.Equal(t, false, got["success"])
			require.Contains(t, got["error"], tt.want)
			require.Empty(t, m.starts)
			require.Empty(t, m.signals)
		})
	}
}
