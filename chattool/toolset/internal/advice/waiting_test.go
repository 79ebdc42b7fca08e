package advice_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const withoutSleep = "Do not wait with sleep: start the command with run_in_background. Then process_output with wait_for returns as soon as its output matches, at the latest after wait_timeout."

func TestWaiting(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		want bool
		all  []string
	}{
		{"a long sleep", true, []string{
			"sleep 60", "sleep 10", "sleep 1m", "sleep 0.5h", "sleep 5 5", "sleep infinity", "/bin/sleep 30", "sleep 60 && cat log", "sleep 60; cat log",
			"cd x && sleep 60 && cat log", "sleep 60\ncat log", "server & sleep 30; curl x", "(sleep 60; cat log)", "{ sleep 60; cat log; }",
			"cat log || sleep 60", "time sleep 60", "sleep '60'", "sleep 60 | cat", "! sleep 60", "sh -c 'sleep 60; cat log'", "timeout 100 sh -c 'sleep 60'",
		}},
		{"a loop", true, []string{
			"while ! curl x; do sleep 1; done", "until nc -z localhost 80; do sleep 0.2; done", "until grep x log; do echo .; sleep 1; done; cat log",
			"while true; do if grep x log; then break; fi; sleep 1; done", "while :; do grep x log && break || sleep 1; done", "while sleep 1; do grep x log; done",
			"for i in $(seq 30); do curl x; sleep 2; done", "for i in {1..30}; do curl x && break; sleep 2; done", "for i in 1 2 3; do curl x; sleep 2; done",
			"for ((i = 0; i < 9; i++)); do curl x; sleep 1; done", "for u in a b; do curl $u && break; sleep 2; done",
			"make && until curl x; do sleep 1; done", "timeout 60 bash -c 'until curl x; do sleep 1; done'", "timeout -k 5 60 sh -c 'while ! curl x; do sleep 1; done'",
		}},
		{"none", false, []string{
			"sleep 5; curl x", "sleep", "sleep $N", "sleep x", "sleep -60", "make", "echo sleep 60", "echo 'sleep 60'", "make # sleep 60", "cat <<EOF\nsleep 60\nEOF",
			"(sleep 60; kill 1) & make", "sleep 60 & wait", "f() { sleep 60; }; make", "x=$(sleep 60)", "timeout 5 sleep 60", "xargs sleep 60", "sh sleep 60",
			"while read -r x; do curl $x; sleep 1; done < list", "while IFS= read -r x; do curl $x; sleep 1; done", "for u in a b; do curl $u; sleep 2; done",
			"for u in *.txt; do curl $u; sleep 2; done", "while make; do (sleep 5; touch x) & done", "while make; do echo sleep; done", "if false; then sleep 60; fi",
			"sh -c \"sleep $N\"", "sh -c 'echo sleep 60'", "sh -c 'sh -c \"sleep 60\"'", "sleep 60 '",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, command := range tt.all {
				r := exited(command, 0, "x")
				r.Ran = 5 * time.Second
				require.Equal(t, tt.want, noteOf(r) == withoutSleep, "%s: %s", command, noteOf(r))
				r.Background = true
				require.NotContains(t, noteOf(r), "without sleep", command)

				r = running(command, "x")
				require.Equal(t, tt.want, noteOf(r) == withoutSleep, command)
				r.Background = true
				require.NotContains(t, noteOf(r), "without sleep", command)

				r = exited(command, 0, "x")
				r.Ran = 4 * time.Second
				require.NotContains(t, noteOf(r), "without sleep", "it took no time")
			}
		})
	}
}
