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
	"github.com/toolproc/toolproc/procmgr"
)

// A model starts its tests, works on, and is told that they have failed.
func TestNoticesPage(t *testing.T) {
	t.Parallel()
	noticesPage(t)
}

func noticesPage(t *testing.T) {
	ids := []string{"npc5orns6a", "h2kq7vd3xe"}
	l := newLocal(t, &toolset.Options{
		Format: toolset.FormatText,
		ProcessID: func(context.Context, toolset.Call) string {
			id := ids[0]
			ids = ids[1:]
			return id
		},
	})
	for name, content := range map[string]string{
		"test.sh": "until [ -e go ]; do sleep 0.01; done; echo 'retry.test: 12 passed'; echo '3 failing'; exit 1\n",
		"app.sh":  "# TODO: give up after some tries\nretry() { :; }\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(l.dir, name), []byte(content), 0o600))
	}
	transcript{
		page: "README.md", test: "NoticesPage",
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
