package toolset_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"golang.org/x/xerrors"
)

func TestProcessOutput(t *testing.T) {
	t.Parallel()
	matched := running("p1", "listening")
	matched.Matched = true
	later := running("p1", "x")
	later.Next = 13
	gone := exited("p1", 0, "")
	gone.Truncated = &headtail.Truncation{OriginalBytes: 5, OmittedBytes: 5, Strategy: "head_tail"}
	lost := running("p1", "")
	lost.Truncated = &headtail.Truncation{Strategy: "head_tail", Unknown: true}
	lostMore := exited("p1", 0, "")
	lostMore.Truncated = &headtail.Truncation{OriginalBytes: 5, OmittedBytes: 5, Strategy: "head_tail", Unknown: true}
	for _, tt := range []struct {
		name, arguments string
		out             procmgr.Output
		req             procmgr.OutputRequest
		success, lives  bool
		note            string
	}{
		{name: "defaults", out: exited("p1", 0, "x"), req: procmgr.OutputRequest{Wait: 10 * time.Second}, success: true},
		{name: "failed", out: exited("p1", 2, "x"), req: procmgr.OutputRequest{Wait: 10 * time.Second}},
		{name: "snapshot", arguments: `,"wait_timeout":"0s"`, out: running("p1", "x"), success: true, lives: true},
		{name: "from an offset", arguments: `,"wait_timeout":"0s","since":12`, out: later, req: procmgr.OutputRequest{From: 12}, success: true, lives: true},
		{name: "from the end", arguments: `,"wait_timeout":"0s","since":13`, out: later, req: procmgr.OutputRequest{From: 13}, success: true, lives: true},
		{name: "from beyond the end", arguments: `,"wait_timeout":"0s","since":14`, out: later, req: procmgr.OutputRequest{From: 14}, success: true, lives: true, note: "since 14 lies beyond the end of the output, which is now at 13."},
		{name: "clamped", arguments: `,"wait_timeout":"9h"`, out: running("p1", "x"), req: procmgr.OutputRequest{Wait: 4 * time.Hour}, success: true, lives: true, note: "wait_timeout was cut from 9h"},
		{name: "detached", out: detached("p1", 0, "x"), req: procmgr.OutputRequest{Wait: 10 * time.Second}, success: true, lives: true, note: "processes that it started live on"},
		{name: "detached and failed", out: detached("p1", 1, "x"), req: procmgr.OutputRequest{Wait: 10 * time.Second}, lives: true, note: "live on"},
		{name: "matched", arguments: `,"wait_for":"listen"`, out: matched, req: procmgr.OutputRequest{Wait: 10 * time.Second, Until: "listen"}, success: true, lives: true, note: "wait_for matched."},
		{name: "no match in time", arguments: `,"wait_for":"z"`, out: running("p1", ""), req: procmgr.OutputRequest{Wait: 10 * time.Second, Until: "z"}, success: true, lives: true, note: "did not match within 10s; the process still runs"},
		{name: "no match before the end", arguments: `,"wait_for":"z"`, out: exited("p1", 0, ""), req: procmgr.OutputRequest{Wait: 10 * time.Second, Until: "z"}, success: true, note: "ended without a match"},
		{name: "no match before the shell's end", arguments: `,"wait_for":"z"`, out: detached("p1", 0, ""), req: procmgr.OutputRequest{Wait: 10 * time.Second, Until: "z"}, success: true, lives: true, note: "wait_for has not matched"},
		{name: "no longer kept", out: gone, req: procmgr.OutputRequest{Wait: 10 * time.Second}, success: true, note: "no longer kept"},
		{name: "lost", arguments: `,"wait_timeout":"0s"`, out: lost, success: true, lives: true, note: "Some output was lost, and it is unknown how much"},
		{name: "lost and no longer kept", arguments: `,"wait_timeout":"0s"`, out: lostMore, success: true, note: "Some output was lost, and it is unknown how much"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &fake{output: func(context.Context, string, procmgr.OutputRequest) (procmgr.Output, error) { return tt.out, nil }}
			res, got := call(t, m, nil, "process_output", `{"process_id":"p1"`+tt.arguments+`}`)
			require.False(t, res.IsError)
			require.Len(t, m.outputs, 1)
			require.Positive(t, m.outputs[0].Limit.Bytes)
			m.outputs[0].Limit, m.outputs[0].Highlight = headtail.Limits{}, 0
			require.Equal(t, tt.req, m.outputs[0])
			require.Equal(t, tt.success, got["success"])
			require.Equal(t, tt.out.Text, got["output"])
			require.EqualValues(t, tt.out.Process.State, got["state"])
			require.EqualValues(t, tt.out.Next, got["next_offset"])
			require.Equal(t, tt.lives, got["process_id"] == "p1")
			note, _ := got["note"].(string)
			require.Contains(t, note, tt.note)
			require.Equal(t, tt.note == "", note == "", note)
			truncated, _ := got["truncated"].(map[string]any)
			require.Equal(t, tt.out.Truncated != nil && tt.out.Truncated.Unknown, truncated["unknown"] == true)
		})
	}
}

func TestProcessOutputFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		first   error
		second  procmgr.Output
		again   error
		isError bool
		success bool
		want    string
	}{
		{name: "not found", first: xerrors.Errorf("procmgr: %w", procmgr.ErrNotFound), isError: true, want: `there is no process p1; process_list shows`},
		{name: "bad pattern", first: xerrors.Errorf("procmgr: output \"p1\": the pattern is too long: %w", procmgr.ErrInvalid), isError: true, want: `"process_output: the pattern is too long; nothing was read"`},
		{name: "ports", first: xerrors.Errorf("procmgr: output \"p1\": the ports of a process cannot be told on darwin: %w", errors.ErrUnsupported), isError: true,
			want: `"process_output: wait_for_port does not work here: the ports of a process cannot be told on darwin. Use wait_for with a line that the process prints when it is ready"`},
		{name: "of a server that was replaced", first: errors.Join(procmgr.ErrNotFound, procmgr.ErrUnknown), isError: true, want: "Do not simply run its command again"},
		{name: "lives", first: errors.New("reset"), second: running("p1", "so far"), want: `"error":"waiting failed: reset"`},
		{name: "over", first: errors.New("reset"), second: exited("p1", 0, "all"), success: true, want: "all"},
		{name: "unreadable", first: errors.New("reset"), again: errors.New("no"), isError: true, want: `"process_id":"p1"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &fake{}
			m.output = func(context.Context, string, procmgr.OutputRequest) (procmgr.Output, error) {
				if len(m.outputs) == 1 {
					return procmgr.Output{}, tt.first
				}
				return tt.second, tt.again
			}
			pairs := []any{"process_id", "p1", "since", 3}
			if tt.name == "ports" {
				pairs = append(pairs, "wait_for_port", 3000)
			}
			res, got := call(t, m, nil, "process_output", arguments(t, pairs...))
			require.Equal(t, tt.isError, res.IsError)
			require.Equal(t, tt.success, got["success"])
			require.Contains(t, res.Content, tt.want)
			for _, req := range m.outputs {
				require.EqualValues(t, 3, req.From)
			}
		})
	}
}

func TestProcessSignal(t *testing.T) {
	t.Parallel()
	ended := exited("p1", 143, "bye")
	ended.Process.EndedBy, ended.Process.Signal = procmgr.CauseRequest, "SIGTERM"
	daemonized := exited("p1", 137, "")
	daemonized.Process.MayLiveOn = true
	for _, tt := range []struct {
		name, signal string
		err          error
		out          procmgr.Output
		outErr       error
		isError      bool
		success      bool
		lives        bool
		want         string
	}{
		{name: "ended", signal: "terminate", out: ended, success: true, want: "has ended"},
		{name: "ignores terminate", signal: "terminate", out: running("p1", ""), success: true, lives: true, want: "Use kill"},
		{name: "ignores interrupt", signal: "interrupt", out: running("p1", ""), success: true, lives: true, want: "Use terminate"},
		{name: "children are left", signal: "terminate", out: detached("p1", 0, ""), success: true, lives: true, want: "Use kill"},
		{name: "killed", signal: "kill", out: exited("p1", 137, ""), success: true, want: "has ended"},
		{name: "survives kill", signal: "kill", out: detached("p1", 137, ""), lives: true, want: "something of the process still runs"},
		{name: "had ended", signal: "kill", err: procmgr.ErrNotRunning, out: exited("p1", 3, ""), success: true, want: "had already ended; nothing was sent"},
		{name: "had ended and is unreadable", signal: "kill", err: procmgr.ErrNotRunning, outErr: errors.New("no"), success: true, want: "had already ended"},
		{name: "not found", signal: "kill", err: procmgr.ErrNotFound, isError: true, want: "there is no process"},
		{name: "closed", signal: "kill", err: procmgr.ErrClosed, isError: true, want: "closed"},
		{name: "survivors", signal: "kill", err: errors.New("12 (sh) survived"), out: running("p1", ""), lives: true, want: "12 (sh) survived"},
		{name: "error but ended", signal: "kill", err: errors.New("reset"), out: ended, success: true, want: "143"},
		{name: "a daemon may live on", signal: "kill", err: errors.New("may live on"), out: daemonized, success: true, want: "a daemon that it started may run unseen"},
		{name: "manager gone", signal: "kill", err: errors.New("reset"), outErr: errors.New("no"), isError: true, lives: true, want: "reset"},
		{name: "sent and unreadable", signal: "kill", outErr: errors.New("no"), success: true, lives: true, want: "The signal was sent; its effect could not be read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &fake{
				signal: func(context.Context, string, procmgr.Signal) error { return tt.err },
				output: func(_ context.Context, _ string, req procmgr.OutputRequest) (procmgr.Output, error) {
					require.Equal(t, int64(math.MaxInt64), req.From, "the output is not read")
					require.Less(t, req.Wait, 2*time.Second)
					return tt.out, tt.outErr
				},
			}
			res, got := call(t, m, nil, "process_signal", `{"process_id":"p1","signal":"`+tt.signal+`"}`)
			require.Equal(t, []procmgr.Signal{procmgr.Signal(tt.signal)}, m.signals)
			require.Equal(t, tt.isError, res.IsError)
			require.Equal(t, tt.success, got["success"])
			require.Equal(t, tt.lives, got["process_id"] == "p1")
			require.NotContains(t, got, "output")
			require.Contains(t, res.Content, tt.want)
			if tt.name == "ended" {
				require.JSONEq(t, `{"success":true,"exit_code":143,"signal":"SIGTERM","state":"exited","duration":"1.5s","note":"Process p1 has ended, as it was asked to."}`, res.Content)
			}
		})
	}
}
