//go:build linux || darwin || freebsd

package toolset_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A result that has a masked value says so, once. One that only prints the words of a
// mask does not.
func TestLocalRedacted(t *testing.T) {
	t.Parallel()
	const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".env"), []byte("A="+token+"\nB=other-16C7e42F292c6912\nC="+token+"\n"), 0o600))
	host := newHost(t, &proclocal.Options{
		WorkDir: dir,
		Redact:  []proclocal.Secret{{Name: "GITHUB_TOKEN", Value: token}, {Name: "B 100%", Value: "other-16C7e42F292c6912"}},
	})
	l := &local{t: t, dir: dir, set: newSet(toolset.Static(host.Chat("chat")), nil)}
	const one = "The value of GITHUB_TOKEN is masked in the output, not in files: commands see what is really there."
	got := l.call(t.Context(), "execute", "command", "head -n 1 .env; tail -n 1 .env")
	require.Equal(t, "A=[withheld: GITHUB_TOKEN]\nC=[withheld: GITHUB_TOKEN]\n", got["output"])
	require.Equal(t, 1, strings.Count(got["note"].(string), one), got["note"])
	got = l.call(t.Context(), "execute", "command", "grep -n . .env")
	require.Contains(t, got["note"], `The values of GITHUB_TOKEN, "B 100%" are masked in the output, not in files`)
	got = l.call(t.Context(), "execute", "command", "echo '[withheld: GITHUB_TOKEN]'")
	require.NotContains(t, got, "note")
	got = l.call(t.Context(), "execute", "command", "cat .env; seq 1000; echo end", "max_output", 50)
	require.NotContains(t, got["output"], "16C7e")
	require.NotContains(t, got["note"], "16C7e")
}
