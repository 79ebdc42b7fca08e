package proclocal_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A search tells what it has found and where, and how much it has not looked at.
func TestSearch(t *testing.T) {
	const lines = `i=0; while [ $i -lt 2000 ]; do echo "line $i"; i=$((i+1)); done`
	at := func(n int) (offset int64) {
		for i := range n {
			offset += int64(len(fmt.Sprintf("line %d\n", i)))
		}
		return offset
	}
	total := at(2000)
	for _, tt := range []struct {
		name, command, until string
		opts                 proclocal.Options
		from                 int64
		matched              bool
		line                 string
		at, unsearched       int64
	}{
		{name: "what is kept", command: lines, until: "^line 1234$", matched: true, line: "line 1234", at: at(1234)},
		{name: "from an offset on", command: lines, until: "^line 12.4$", from: at(1230), matched: true, line: "line 1234", at: at(1234)},
		{name: "from within a line", command: lines, until: "^e 1234$", from: at(1234) + 3, matched: true, line: "e 1234", at: at(1234) + 3},
		{name: "all of it", command: lines, until: "never"},
		{name: "what has been dropped", command: lines, until: "^line 1234$", opts: proclocal.Options{Head: 100, Tail: 100}, unsearched: total - 200},
		{name: "what has been dropped from an offset on", command: lines, until: "^line 12$", from: at(1000), opts: proclocal.Options{Head: 100, Tail: 100}, unsearched: total - at(1000) - 100},
		{name: "behind what has been dropped", command: lines, until: "^line 1999$", opts: proclocal.Options{Head: 100, Tail: 100}, matched: true, line: "line 1999", at: at(1999), unsearched: total - 200},
		{name: "what the log has", command: lines, until: "^line 1234$", opts: proclocal.Options{Head: 100, Tail: 100, LogDir: "log"}, matched: true, line: "line 1234", at: at(1234)},
		{name: "what a log that ended has not", command: lines, until: "^line 1234$", opts: proclocal.Options{Head: 100, Tail: 100, LogDir: "log", MaxLog: 1000}, unsearched: total - 1100},
		{name: "the rest of long lines", command: "head -c 5000 /dev/zero | tr '\\0' x; echo; head -c 9000 /dev/zero | tr '\\0' y", until: "z",
			opts: proclocal.Options{Head: 20000}, unsearched: 5000 - 4096 + 9000 - 4096},
		{name: "a long line", command: "head -c 3000 /dev/zero | tr '\\0' x; printf needle; head -c 3000 /dev/zero | tr '\\0' y; echo", until: "needle",
			opts: proclocal.Options{Head: 20000}, matched: true, line: "…" + strings.Repeat("x", 98) + "needle" + strings.Repeat("y", 190) + "…"},
		{name: "any new output", command: lines, until: ".", matched: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.opts.LogDir != "" {
				tt.opts.LogDir = t.TempDir()
			}
			l := newLocal(t, &tt.opts)
			id := run(t, l, tt.command).Process.ID
			out := output(t, l, id, procmgr.OutputRequest{From: tt.from, Until: tt.until})
			require.Equal(t, tt.matched, out.Matched)
			require.Equal(t, tt.line, out.MatchedLine)
			require.Equal(t, tt.at, out.MatchedAt)
			require.Equal(t, tt.unsearched, out.Unsearched)

			out = output(t, l, id, procmgr.OutputRequest{From: tt.from})
			require.Zero(t, out.Unsearched, "nothing was looked for")
		})
	}
}
