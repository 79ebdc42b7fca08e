//go:build linux || darwin || freebsd

package toolset_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
)

// The same of real processes, here and on another machine.
func TestWaitForOfRealOutput(t *testing.T) {
	t.Parallel()
	host := newHost(t, nil)
	for name, m := range map[string]procmgr.Manager{"local": host.Chat("local"), "remote": remote(t, host, nil, nil)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &local{t: t, set: newSet(toolset.Static(m), nil)}
			got := l.call(t.Context(), "execute", "command", "seq 100000; echo 'server: ready'; exec sleep 1000", "run_in_background", true)
			id := got["process_id"].(string)
			got = l.call(t.Context(), "process_output", "process_id", id, "wait_for", "Ready|ready", "wait_timeout", "30s")
			const printed = 588895 // by seq
			require.Contains(t, got["note"], fmt.Sprintf(`wait_for matched at offset %d: "server: ready".`, printed))

			got = l.call(t.Context(), "process_output", "process_id", id, "wait_for", "^50000$", "wait_timeout", "100ms")
			dropped := printed + len("server: ready\n") - 32<<10
			require.Contains(t, got["note"], fmt.Sprintf("wait_for did not match within 100ms; the process still runs. %d bytes of the output were not searched", dropped))

			for pattern, want := range map[string]string{
				`99999\n100000`:   "output is searched line by line",
				"ready(?!y)":      "RE2 has no look-around",
				"/READY/i":        `write \"(?i)READY\"`,
				"$100000":         "can never match",
				`(\d)\1\1\1`:      "nor backreferences",
				"server: ready\n": "no line has a newline in it",
			} {
				res := l.set.Call(t.Context(), toolset.Call{Name: "process_output",
					Arguments: []byte(arguments(t, "process_id", id, "wait_for", pattern, "wait_timeout", "30s"))})
				require.True(t, res.IsError)
				require.Contains(t, res.Content, want)
			}
			l.call(t.Context(), "process_signal", "process_id", id, "signal", "kill")
		})
	}
}
