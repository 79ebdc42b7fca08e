package toolset_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// listeningOn adds sockets to an output.
func listeningOn(out procmgr.Output, addrs ...string) procmgr.Output {
	for _, addr := range addrs {
		out.Listening = append(out.Listening, procmgr.Socket{Addr: addr, PID: 4760})
	}
	return out
}

// The note says whether the process listens on wait_for_port.
func TestWaitForPortTells(t *testing.T) {
	t.Parallel()
	matched := listeningOn(running("p1", "ready\n"), "127.0.0.1:3000")
	matched.Matched, matched.MatchedLine = true, "ready"
	for _, tt := range []struct {
		name, pattern string
		out           procmgr.Output
		want          string
	}{
		{"it listens", "", listeningOn(running("p1", ""), "127.0.0.1:80", "[::1]:3000"), "It listens on port 3000 ([::1]:3000, pid 4760)."},
		{"on another port", "", listeningOn(running("p1", ""), "0.0.0.0:3001"), "It does not listen on port 3000 after 10s; it listens on 0.0.0.0:3001."},
		{"on none", "", running("p1", ""), "It does not listen on port 3000 after 10s; it listens on no port."},
		{"detached", "", detached("p1", 0, ""), "It does not listen on port 3000, and the shell has ended; it listens on no port."},
		{"ended", "", exited("p1", 0, ""), "The process ended and does not listen on port 3000."},
		{"before the pattern", "ready", listeningOn(running("p1", ""), "127.0.0.1:3000"), "It listens on port 3000 (127.0.0.1:3000, pid 4760)."},
		{"with the pattern", "ready", matched, `It listens on port 3000 (127.0.0.1:3000, pid 4760). wait_for matched at offset 0: "ready".`},
		{"neither", "ready", running("p1", ""), "it listens on no port. wait_for did not match within 10s; the process still runs."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &fake{output: func(_ context.Context, _ string, req procmgr.OutputRequest) (procmgr.Output, error) {
				require.Equal(t, 3000, req.UntilListening)
				return tt.out, nil
			}}
			pairs := []any{"process_id", "p1", "wait_for_port", 3000}
			if tt.pattern != "" {
				pairs = append(pairs, "wait_for", tt.pattern)
			}
			res, got := call(t, m, nil, "process_output", arguments(t, pairs...))
			require.False(t, res.IsError)
			require.Contains(t, got["note"], tt.want)
		})
	}
}

func TestWaitForPortIsRefused(t *testing.T) {
	t.Parallel()
	m := &fake{output: func(context.Context, string, procmgr.OutputRequest) (procmgr.Output, error) {
		return procmgr.Output{}, xerrors.Errorf("procmgr: output \"p1\": the ports of a process cannot be told on darwin: %w", errors.ErrUnsupported)
	}}
	res, got := call(t, m, nil, "process_output", arguments(t, "process_id", "p1", "wait_for_port", "3000"))
	require.True(t, res.IsError)
	require.Equal(t, "process_output: wait_for_port does not work here: the ports of a process cannot be told on darwin. Use wait_for with a line that the process prints when it is ready", got["error"])

	for _, bad := range []any{0, -1, 65536, 1.5, "http", true} {
		res, got := call(t, &fake{}, nil, "process_output", arguments(t, "process_id", "p1", "wait_for_port", bad))
		require.True(t, res.IsError)
		require.Contains(t, got["error"], `"wait_for_port": got`)
	}
}
