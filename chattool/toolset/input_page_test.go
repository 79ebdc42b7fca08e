//go:build linux

package toolset_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/internal/testenv"
)

// bug is the program in which the session looks for a mistake.
const bug = `def average(numbers):
    total = count = 0
    for n in numbers:
        total += n
        if n > 0:
            count += 1
    return total / count

print(average([-40, 50, 80]))
`

// A model finds a mistake with a debugger, and the page shows how.
func TestInputPage(t *testing.T) {
	testenv.Programs(t, "python3")
	l := newLocal(t, &toolset.Options{
		Input: true, Format: toolset.FormatText,
		ProcessID: func(context.Context, toolset.Call) string { return "k7qv2mzp4a" },
	})
	require.NoError(t, os.WriteFile(filepath.Join(l.dir, "average.py"), []byte(bug), 0o600))
	transcript{
		page: "docs/input.md", test: "InputPage",
		same: []sameText{
			{regexp.MustCompile(regexp.QuoteMeta(l.dir)), "/srv/project"},
			{regexp.MustCompile(`\b\d+(\.\d+)?m?s\b`), "0.2s"},
			{regexp.MustCompile(` · next_offset \d+`), ""},
			{regexp.MustCompile(`at offset \d+`), "at offset 90"},
			{regexp.MustCompile(`note: The last line looks like a question or a prompt: .*\n`), ""}, // of a process that has run for a second
		},
	}.replay(t, l.set)
}
