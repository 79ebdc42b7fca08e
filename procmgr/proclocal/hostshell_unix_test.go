//go:build unix

package proclocal_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A command starts from a shell of its own, not from the state of the one that has
// started the host.
func TestHostShellState(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "w"), 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(other, "w"), 0o700))
	t.Setenv("OLDPWD", other)
	t.Setenv("CDPATH", other)
	t.Setenv("SHELLOPTS", "braceexpand:noglob")
	t.Setenv("BASHOPTS", "nullglob:sourcepath")
	for name, opts := range map[string]*proclocal.Options{"the default shell": nil, "sh": {Shell: []string{"sh", "-c"}}} {
		t.Run(name, func(t *testing.T) {
			l := newLocal(t, opts)
			for _, tt := range []struct{ command, want string }{
				{"cd - >/dev/null 2>&1; pwd -P", dir + "\n"},
				{`X=$(cd w && pwd -P); echo "$X"`, filepath.Join(dir, "w") + "\n"},
				{"echo * none*", "w none*\n"},
			} {
				require.Equal(t, tt.want, start(t, l, procmgr.StartRequest{Command: tt.command, WorkDir: dir, Wait: long}).Text, tt.command)
			}
		})
	}
}

// A host without a PATH finds its shell, and the command its programs.
func TestHostWithoutPath(t *testing.T) {
	for name, clear := range map[string]func(t *testing.T){
		"unset": func(t *testing.T) { t.Setenv("PATH", ""); require.NoError(t, os.Unsetenv("PATH")) },
		"empty": func(t *testing.T) { t.Setenv("PATH", "") },
	} {
		t.Run(name, func(t *testing.T) {
			want := plainShell()
			clear(t)
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "planted"), []byte("#!/bin/sh\necho planted\n"), 0o700))
			l := newLocal(t, nil)
			d, err := l.Describe(t.Context())
			require.NoError(t, err)
			require.Equal(t, want, d.Shell)
			out := start(t, l, procmgr.StartRequest{Command: "env | grep -c ^PATH=; planted 2>/dev/null || echo no", WorkDir: dir, Wait: long})
			require.Equal(t, "1\nno\n", out.Text)

			l = newLocal(t, &proclocal.Options{Shell: []string{"/bin/sh", "-c"}, Env: envpolicy.Policy{Exclude: []string{"PATH"}}})
			require.Equal(t, "0\n", run(t, l, "/usr/bin/env | /bin/grep -c ^PATH=").Text, "the policy decides")
		})
	}
}
