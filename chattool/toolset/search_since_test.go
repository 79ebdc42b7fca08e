package toolset_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

// A server is often ready before the first result: its line then stands before
// the next_offset that the model goes on from.
func TestWaitForTellsThatItBeganAtSince(t *testing.T) {
	t.Parallel()
	at := func(out procmgr.Output) procmgr.Output {
		out.Next = 10
		return out
	}
	matched := at(running("p1", "listening\n"))
	matched.Matched, matched.MatchedLine, matched.MatchedAt = true, "listening", 10
	const said = "Output before since was not searched; leave since out to search that too."
	for _, tt := range []struct {
		name, since string
		out         procmgr.Output
		want        bool
	}{
		{"runs", "10", at(running("p1", "")), true},
		{"has ended", "10", at(exited("p1", 0, "")), true},
		{"detached", "10", at(detached("p1", 0, "")), true},
		{"matched", "10", matched, false},
		{"from the beginning", "0", running("p1", ""), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			res, got := call(t, &fake{output: answerOutput(tt.out)}, nil, "process_output", `{"process_id":"p1","wait_for":"listening","since":`+tt.since+`}`)
			require.False(t, res.IsError)
			if tt.want {
				require.Contains(t, got["note"], said)
			} else {
				require.NotContains(t, got["note"], "before since")
			}
		})
	}
}
