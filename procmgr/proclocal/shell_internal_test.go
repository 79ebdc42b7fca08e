package proclocal

import (
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// The rule for the default on each platform, with the programs that there are.
func TestDefault(t *testing.T) {
	const git = "/git/usr/bin/"
	for _, tt := range []struct {
		name, goos string
		programs   []string // the paths that there are
		path       map[string]string
		want       string
	}{
		{"bash", "linux", nil, map[string]string{"sh": "/bin/sh", "bash": "/bin/bash"}, "bash"},
		{"no bash", "linux", nil, map[string]string{"sh": "/bin/sh"}, "sh"},
		{"neither", "linux", nil, nil, "sh"},
		{"Git for Windows", "windows", []string{git + "bash.exe"}, map[string]string{"sh": git + "sh.exe"}, git + "bash.exe"},
		{"and the bash of WSL", "windows", []string{git + "bash.exe"}, map[string]string{"sh": git + "sh.exe", "bash": "/windows/system32/bash.exe"}, git + "bash.exe"},
		{"no bash beside sh", "windows", nil, map[string]string{"sh": git + "sh.exe", "bash": "/windows/system32/bash.exe"}, "sh"},
		{"the bash of WSL alone", "windows", nil, map[string]string{"bash": "/windows/system32/bash.exe"}, "sh"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("the paths of this table are those of Unix")
			}
			look := func(name string) (string, error) {
				if file, ok := tt.path[name]; ok {
					return file, nil
				}
				for _, file := range tt.programs {
					if name == file {
						return file, nil
					}
				}
				return "", exec.ErrNotFound
			}
			require.Equal(t, []string{tt.want, "-c"}, defaultShell(tt.goos, look))
		})
	}
}
