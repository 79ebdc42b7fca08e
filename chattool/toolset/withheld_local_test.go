//go:build linux || darwin || freebsd

package toolset_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A script does not say that it lacks a variable, so the note of the first
// command that fails says it.
func TestWithheldInScript(t *testing.T) {
	t.Setenv("DEPLOY_TOKEN", "hidden")
	l := newLocal(t, nil)
	const script = "test -n \"$DEPLOY_TOKEN\" || exit 3\n"
	require.NoError(t, os.WriteFile(filepath.Join(l.dir, "deploy.sh"), []byte(script), 0o600))
	got := l.call(t.Context(), "execute", "command", "sh ./deploy.sh || true")
	require.Equal(t, true, got["success"])
	require.NotContains(t, got, "note")

	got = l.call(t.Context(), "execute", "command", "sh ./deploy.sh")
	require.EqualValues(t, 3, got["exit_code"])
	require.Equal(t, "DEPLOY_TOKEN is set on the host, but its environment policy keeps it from commands, as it does with secrets; if the command needs it, the user can allow it.", got["note"])

	got = l.call(t.Context(), "execute", "command", "sh ./deploy.sh")
	require.EqualValues(t, 3, got["exit_code"])
	require.NotContains(t, got, "note", "it was said")
}
