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

// If a command fails because its port is taken, the note says which process of
// the chat holds that port.
func TestHolderOfPort(t *testing.T) {
	t.Parallel()
	const held = `Port 3000 is held by process web of this chat ("npm start"), pid 4760; process_signal ends it.`
	for _, tt := range []struct {
		name, command, text string
		code                int
		want                string
	}{
		{"node", "npm run dev", "node:events:497\nError: listen EADDRINUSE: address already in use :::3000\n  port: 3000\n", 1, held},
		{"go", "./server", "listen tcp 127.0.0.1:3000: bind: address already in use\n", 1, held},
		{"python", "python3 -m http.server 3000", "OSError: [Errno 98] Address already in use\n", 1, held},
		{"vite", "vite", "Error: Port 3000 is already in use\n", 1, held},
		{"docker", "docker run -p 3000:80 nginx", "Bind for 0.0.0.0:3000 failed: port is already allocated\nport 3000 is already allocated\n", 125, held},
		{"rust", "cargo run", "Os { code: 98, kind: AddrInUse, message: \"Address already in use\" } on 3000\n", 101, held},
		{"no port is named", "./server", "OSError: [Errno 98] Address already in use\n", 1,
			`Process web of this chat ("npm start") listens on port 80; process_signal ends it. Process web of this chat ("npm start") listens on port 3000; process_signal ends it.`},
		{"another port", "./server", "listen tcp :5000: bind: address already in use\n", 1, ""},
		{"no failure", "./server", "port 3000 is in use, trying another one\n", 0, ""},
		{"another failure", "./server", "port 3000: permission denied\n", 1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			failed := exited("p1", tt.code, tt.text)
			failed.Process.Command = tt.command
			web := running("web", "")
			web.Process.Command = "npm start"
			m := &fake{
				start: answerStart(failed),
				list: func(context.Context) ([]procmgr.Process, error) {
					return []procmgr.Process{web.Process, exited("old", 0, "").Process, failed.Process, running("gone", "").Process}, nil
				},
				output: func(_ context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
					switch id {
					case "p1":
						return failed, nil
					case "gone":
						return procmgr.Output{}, procmgr.ErrNotFound
					}
					require.Equal(t, "web", id, "nobody else lives")
					require.True(t, req.Ports)
					return listeningOn(web, "127.0.0.1:80", "127.0.0.1:3000"), nil
				},
			}
			for _, c := range []struct{ tool, arguments string }{
				{"execute", arguments(t, "command", tt.command)},
				{"process_output", arguments(t, "process_id", "p1")},
			} {
				_, got := call(t, m, nil, c.tool, c.arguments)
				note, _ := got["note"].(string)
				if tt.want == "" {
					require.NotContains(t, note, "of this chat")
				} else {
					require.Contains(t, note, tt.want)
				}
			}
		})
	}
}
