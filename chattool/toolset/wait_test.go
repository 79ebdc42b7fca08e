package toolset_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

// listeningOn adds sockets to an output.
func listeningOn(out procmgr.Output, addrs ...string) procmgr.Output {
	for _, addr := range addrs {
		out.Listening = append(out.Listening, procmgr.Socket{Addr: addr, PID: 4760})
	}
	return out
}

// The note quotes the match of wait_for, and counts the bytes that wait_for did
// not search.
func TestWaitForTells(t *testing.T) {
	t.Parallel()
	matched := func(line string, at int64) procmgr.Output {
		out := running("p1", line+"\n")
		out.Matched, out.MatchedLine, out.MatchedAt = true, line, at
		return out
	}
	unsearched := func(out procmgr.Output, log, ended string) procmgr.Output {
		out.Unsearched, out.Process.LogPath, out.Process.LogError = 12345, log, ended
		return out
	}
	at10 := func(out procmgr.Output) procmgr.Output {
		out.Next = 10
		return out
	}
	ready := listeningOn(matched("ready", 0), "127.0.0.1:3000")
	// A server is often ready before the first result, whose next_offset the model goes on from.
	const before = "Output before since was not searched; leave since out to search that too."
	for _, tt := range []struct {
		name, pattern string
		out           procmgr.Output
		want          string
		not           string
	}{
		{"a line", "on [0-9]+", matched("listening on 80", 34), `wait_for matched at offset 34: "listening on 80".`, "searched"},
		{"at the beginning", "ready", matched("ready", 0), `wait_for matched at offset 0: "ready".`, ""},
		{"an empty line", "^$", matched("", 6), `wait_for matched at offset 6: "".`, ""},
		{"quotes and controls", "x", matched("\"x\"\x1b[1m\a", 6), `wait_for matched at offset 6: "\"x\"\x1b[1m\a".`, ""},
		{"a long line", "x", matched(strings.Repeat("\x00x", 150), 6), `wait_for matched at offset 6: "\x00x`, ""},
		{"any output", ".", matched("", 0), "wait_for matched.", "offset"},
		{"a manager that does not tell", "x", matched("", 0), "wait_for matched.", "offset"},
		{"not all was searched", "z", unsearched(running("p1", ""), "", ""),
			"did not match within 10s; the process still runs. 12345 bytes of the output were not searched: they are no longer kept, or", "They are in the log"},
		{"the log has it", "z", unsearched(exited("p1", 0, ""), "/log", ""), `They are in the log: grep -n -a -b -o 'PATTERN.\{0,200\}' FILE`, ""},
		{"the log has only the beginning", "z", unsearched(exited("p1", 0, ""), "/log", "it is full"), "12345 bytes of the output were not searched", "They are in the log"},
		{"detached", "z", unsearched(detached("p1", 0, ""), "", ""), "the shell has ended. 12345 bytes of the output", ""},
		{"since 10: runs", "ready", at10(running("p1", "")), before, ""},
		{"since 10: has ended", "ready", at10(exited("p1", 0, "")), before, ""},
		{"since 10: detached", "ready", at10(detached("p1", 0, "")), before, ""},
		{"since 10: matched", "ready", at10(matched("ready", 10)), "wait_for matched", "before since"},
		{"from the beginning", "ready", running("p1", ""), "did not match", "before since"},
		{"slashes", "/ready/", running("p1", "ready"), "The slashes of wait_for are searched for, too", "bytes of the output"},
		{"slashes and flags", "/ready/i", running("p1", "ready"), "(?i) in front of a pattern ignores case.", "bytes of the output"},
		{"a path", "/usr/lib", running("p1", ""), "did not match within 10s", "slashes"},

		{"port 3000: it listens", "", listeningOn(running("p1", ""), "127.0.0.1:80", "[::1]:3000"), "It listens on port 3000 ([::1]:3000, pid 4760).", ""},
		{"port 3000: on another port", "", listeningOn(running("p1", ""), "0.0.0.0:3001"), "It does not listen on port 3000 after 10s; it listens on 0.0.0.0:3001.", ""},
		{"port 3000: on none", "", running("p1", ""), "It does not listen on port 3000 after 10s; it listens on no port.", ""},
		{"port 3000: detached", "", detached("p1", 0, ""), "It does not listen on port 3000, and the shell has ended; it listens on no port.", ""},
		{"port 3000: ended", "", exited("p1", 0, ""), "The process ended and does not listen on port 3000.", ""},
		{"port 3000: before the pattern", "ready", listeningOn(running("p1", ""), "127.0.0.1:3000"), "It listens on port 3000 (127.0.0.1:3000, pid 4760).", "wait_for"},
		{"port 3000: with the pattern", "ready", ready, `It listens on port 3000 (127.0.0.1:3000, pid 4760). wait_for matched at offset 0: "ready".`, ""},
		{"port 3000: neither", "ready", running("p1", ""), "it listens on no port. wait_for did not match within 10s; the process still runs.", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pairs := []any{"process_id", "p1", "wait_for", tt.pattern}
			if strings.HasPrefix(tt.name, "since 10") {
				pairs = append(pairs, "since", 10)
			}
			if strings.HasPrefix(tt.name, "port 3000") {
				pairs = append(pairs, "wait_for_port", 3000)
			}
			res, got := call(t, &fake{output: answerOutput(tt.out)}, nil, "process_output", arguments(t, pairs...))
			require.False(t, res.IsError)
			require.Contains(t, got["note"], tt.want)
			require.Less(t, len(got["note"].(string)), 600)
			if tt.not != "" {
				require.NotContains(t, got["note"], tt.not)
			}
		})
	}
}
