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
	"github.com/toolproc/toolproc/procmgr"
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

// inTurn chooses one ID after the other.
func inTurn(ids ...string) func(context.Context, toolset.Call) string {
	return func(context.Context, toolset.Call) string {
		id := ids[0]
		ids = ids[1:]
		return id
	}
}

// A model finds a mistake with a debugger, and the page shows how.
func TestInputPage(t *testing.T) {
	testenv.Programs(t, "python3")
	l := newLocal(t, &toolset.Options{
		Input: true, Format: toolset.FormatText, DefaultTimeout: patience,
		ProcessID: inTurn("k7qv2mzp4a"),
	})
	require.NoError(t, os.WriteFile(filepath.Join(l.dir, "average.py"), []byte(bug), 0o600))
	transcript{
		page: "docs/input.md", test: "InputPage",
		same: []sameText{
			{regexp.MustCompile(regexp.QuoteMeta(l.dir)), "/srv/project"},
			{regexp.MustCompile(`\b\d+(\.\d+)?m?s\b`), "0.2s"},
			{regexp.MustCompile(` · next_offset \d+`), ""},
			{regexp.MustCompile(`at offset \d+`), "at offset 90"},
			// The prompt matches before the program reads, or after that: see TestLocalQuestion.
			{regexp.MustCompile(` · waiting_for_input true`), ""},
			{regexp.MustCompile(`note: It waits for input\. Answer with .*\n`), ""},
		},
	}.replay(t, l.set)
}

// A model starts its tests, works on, and is told that they have failed.
func TestNoticesPage(t *testing.T) {
	t.Parallel()
	l := newLocal(t, &toolset.Options{
		Format: toolset.FormatText, DefaultTimeout: patience,
		ProcessID: inTurn("npc5orns6a", "h2kq7vd3xe"),
	})
	for name, content := range map[string]string{
		"test.sh": "until [ -e go ]; do sleep 0.01; done; echo 'retry.test: 12 passed'; echo '3 failing'; exit 1\n",
		"app.sh":  "# TODO: give up after some tries\nretry() { :; }\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(l.dir, name), []byte(content), 0o600))
	}
	transcript{
		page: "docs/notifications.md", test: "NoticesPage",
		same: []sameText{
			{regexp.MustCompile("\nworkdir: " + regexp.QuoteMeta(l.dir)), ""},
			{regexp.MustCompile(`after \S+;`), "after 2m;"},
			{regexp.MustCompile(`exit code 1 · \S+`), "exit code 1 · 2m"},
			{regexp.MustCompile(`(running|exit code 0) · [0-9.]+m?s`), "$1 · 0.2s"},
		},
		before: func(t *testing.T, n int) {
			if n != 1 {
				return
			}
			// The tests end, without a call of the model.
			require.NoError(t, os.WriteFile(filepath.Join(l.dir, "go"), nil, 0o600))
			_, err := l.manager.Output(t.Context(), "npc5orns6a", procmgr.OutputRequest{Wait: patience})
			require.NoError(t, err)
		},
	}.replay(t, l.set)
}

// totalTests prints what a test runner does, and fails if there is a file "broken".
const totalTests = `i=1; while [ $i -le 70 ]; do
	if [ $i = 41 ] && [ -e broken ]; then
		echo "    total_test.go:17: Total(41) = 820, want 738"; echo "--- FAIL: TestTotal/41_items (0.00s)"
	else echo "--- PASS: TestTotal/${i}_items (0.0$((i % 3))s)"; fi
	i=$((i+1))
done
[ -e broken ] && { echo FAIL; exit 1; }; echo PASS
`

// A model runs its tests again, with a mistake and without a change.
func TestAgainPage(t *testing.T) {
	t.Parallel()
	l := newLocal(t, &toolset.Options{
		Format: toolset.FormatText, DefaultTimeout: patience,
		ProcessID: inTurn("npc5orns6a", "h2kq7vd3xe", "k7qv2mzp4a"),
	})
	require.NoError(t, os.WriteFile(filepath.Join(l.dir, "test.sh"), []byte(totalTests), 0o600))
	transcript{
		page: "docs/output.md", test: "AgainPage",
		same: []sameText{{regexp.MustCompile(`· \S+ \(\S+s before\)`), "· 4.1s (3.9s before)"}},
		before: func(t *testing.T, n int) {
			broken := filepath.Join(l.dir, "broken")
			if n == 1 {
				require.NoError(t, os.WriteFile(broken, nil, 0o600))
			} else {
				require.NoError(t, os.RemoveAll(broken))
			}
		},
	}.replay(t, l.set)
}
