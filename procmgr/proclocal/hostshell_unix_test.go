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
