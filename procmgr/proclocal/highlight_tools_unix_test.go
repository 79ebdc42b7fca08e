//go:build unix

package proclocal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// calm returns n lines that tell of no trouble, each with its number.
func calm(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d is as it should be\n", i)
	}
	return b.String()
}

// decoys returns lines of many kinds that only mention trouble.
func decoys(n int) string {
	var b strings.Builder
	for i := range n {
		name := string([]byte{'a' + byte(i/26%26), 'a' + byte(i%26)})
		for _, line := range []string{
			"case error_%s ok", "test handles_failure::%s ... ok", "--- PASS: TestFails%s (0.00s)", "INFO  retry of %s failed, will try again",
			"cc -Werror -c fatal/%s.c", "Tests run: 3, Failures: 0, Errors: 0 in %s", "0 errors, no warnings in %s", "[       OK ] Thrower.ThrowsException%s",
			"%s: trace of a badge was left", "level=info msg=\"%s could not be found in the cache\"",
		} {
			fmt.Fprintf(&b, line+"\n", name)
		}
	}
	return b.String()
}

// The line that matters is found in the output of many tools, among lines that
// only look alike.
func TestHighlightsOfManyTools(t *testing.T) {
	l := newLocal(t, &proclocal.Options{Head: 1 << 10, Tail: 1 << 10, LogDir: t.TempDir()})
	for _, tt := range []struct{ name, lines, want string }{
		{"the second word of a line", "tests/test_a.py::test_error_where_x FAILED\n", "tests/test_a.py::test_error_where_x FAILED"},
		{"cargo", "test tests::error_path ... FAILED\n", "test tests::error_path ... FAILED"},
		{"a race", "==================\nWARNING: DATA RACE\nRead at 0x00c00011c018 by goroutine 84:\n", "WARNING: DATA RACE\nRead at 0x00c00011c018 by goroutine 84:"},
		{"java.util.logging", "SEVERE: posting gone\n", "SEVERE: posting gone"},
		{"a log with a level", "12:07:30.450 [http-3] SEVERE shop.Ledger - posting gone\n", "12:07:30.450 [http-3] SEVERE shop.Ledger - posting gone"},
		{"logfmt", "ts=1 level=error msg=\"it is gone\"\n", "ts=1 level=error msg=\"it is gone\""},
		{"npm", "npm ERR! code ERESOLVE\n", "npm ERR! code ERESOLVE"},
		{"a missing file", "missing: a.txt\n", "missing: a.txt"},
		{"a row", "row 7: duplicate of row 3\n", "row 7: duplicate of row 3"},
		{"a bad row", "bad row 7\n", "bad row 7"},
		{"a wrong sum", "wrong sum in block 7\n", "wrong sum in block 7"},
		{"an exception", "java.lang.IllegalStateException: gone\n\tat a.B.c(B.java:7)\n", "java.lang.IllegalStateException: gone\n\tat a.B.c(B.java:7)"},
		{"an exception without a message", "java.lang.NullPointerException\n", "java.lang.NullPointerException"},
		{"terraform", "│ Error: gone\n", "│ Error: gone"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "output")
			require.NoError(t, os.WriteFile(file, []byte(calm(500)+decoys(100)+"\n"+tt.lines+"\n"+calm(500)), 0o600))
			id := run(t, l, "cat "+file+"; exit 1").Process.ID
			out := output(t, l, id, procmgr.OutputRequest{Limit: headtail.Limits{Bytes: 500}, Highlight: len(tt.want)})
			require.NotEmpty(t, out.Highlights)
			require.Equal(t, tt.want, out.Highlights[0].Text)
		})
	}
}
