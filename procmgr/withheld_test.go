package procmgr_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

// A build that fails for want of a variable can be told so, though the command does
// not mention it.
func TestWithheldInScripts(t *testing.T) {
	needs(t, "make")
	t.Setenv("MY_API_TOKEN", "hidden")
	t.Setenv("OTHER_API_TOKEN", "hidden")
	t.Setenv("GIVEN_API_TOKEN", "hidden")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"fail.sh":       `test -n "$MY_API_TOKEN" || exit 3`,
		"warn.sh":       `test -n "$MY_API_TOKEN" || echo "warning: no token"`,
		"quiet.sh":      `test -n "$MY_API_TOKEN" || echo no token`,
		"unrelated.sh":  `echo $MY_API_TOKENS; echo warning; exit 3`,
		"given.sh":      `echo $GIVEN_API_TOKEN; exit 3`,
		"sub/fail.sh":   `echo $OTHER_API_TOKEN; exit 3`,
		"background.sh": `sleep 1000 & echo $MY_API_TOKEN; exit 3`,
		"large.sh":      "exit 3\n" + strings.Repeat("#", 256<<10) + "MY_API_TOKEN",
		"sub/Makefile":  "x:\n\ttest -n \"$(OTHER_API_TOKEN)\"\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text+"\n"), 0o644))
	}
	l := newLocal(t, &procmgr.Options{UpdateEnv: func(env []string) ([]string, error) {
		return append(env, "GIVEN_API_TOKEN=given"), nil
	}})
	for _, tt := range []struct {
		name, command string
		want          []string
	}{
		{name: "a script that fails", command: "sh fail.sh", want: []string{"MY_API_TOKEN"}},
		{name: "one of several commands", command: "cd sub && sh ./fail.sh 2>&1", want: []string{"OTHER_API_TOKEN"}},
		{name: "a makefile", command: "make -C sub x 2>&1", want: []string{"OTHER_API_TOKEN"}},
		{name: "the command mentions another one", command: "echo $OTHER_API_TOKEN; sh fail.sh", want: []string{"MY_API_TOKEN", "OTHER_API_TOKEN"}},
		{name: "a warning", command: "sh warn.sh", want: []string{"MY_API_TOKEN"}},
		{name: "no warning", command: "sh quiet.sh"},
		{name: "no file", command: "echo warning"},
		{name: "another name", command: "sh unrelated.sh"},
		{name: "what it was given", command: "sh given.sh"},
		{name: "too far down", command: "sh large.sh"},
		{name: "what it printed", command: "echo 'MY_API_TOKEN is not set'; (exit 3)", want: []string{"MY_API_TOKEN"}},
		{name: "what it printed, and is well", command: "x=MY_API_; echo WARN ${x}TOKEN"},
		{name: "what it prints in parts", command: "x=MY_API_; echo ${x}TOKEN; exit 3", want: []string{"MY_API_TOKEN"}},
		{name: "no such file", command: "sh missing.sh"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := l.Start(t.Context(), procmgr.StartRequest{Command: tt.command, WorkDir: dir, Wait: long})
			require.NoError(t, err)
			require.Equal(t, procmgr.Exited, out.Process.State)
			require.Equal(t, tt.want, out.Withheld)
		})
	}
	t.Run("a request that gives it", func(t *testing.T) {
		out, err := l.Start(t.Context(), procmgr.StartRequest{
			Command: "sh fail.sh; exit 3", WorkDir: dir, Wait: long, Env: map[string]string{"MY_API_TOKEN": "mine"},
		})
		require.NoError(t, err)
		require.Empty(t, out.Withheld)
	})
	t.Run("what it leaves behind", func(t *testing.T) {
		out, err := l.Start(t.Context(), procmgr.StartRequest{Command: ". ./background.sh", WorkDir: dir, Wait: long})
		require.NoError(t, err)
		require.Equal(t, procmgr.Detached, out.Process.State)
		require.Equal(t, []string{"MY_API_TOKEN"}, out.Withheld)
		require.NoError(t, l.Signal(t.Context(), out.Process.ID, procmgr.Kill))
	})
	t.Run("ended on request", func(t *testing.T) {
		out, err := l.Start(t.Context(), procmgr.StartRequest{Command: "sh fail.sh; sleep 1000", WorkDir: dir})
		require.NoError(t, err)
		require.NoError(t, l.Signal(t.Context(), out.Process.ID, procmgr.Kill))
		out, err = l.Output(t.Context(), out.Process.ID, procmgr.OutputRequest{Wait: long})
		require.NoError(t, err)
		require.Equal(t, procmgr.Exited, out.Process.State)
		require.Empty(t, out.Withheld)
	})
	t.Run("a program in front of the shell", func(t *testing.T) {
		needs(t, "env")
		l := newLocal(t, &procmgr.Options{Shell: []string{"env", "sh", "-c"}})
		for command, want := range map[string][]string{
			"sh fail.sh":                       nil,
			"sh fail.sh || exit $MY_API_TOKEN": {"MY_API_TOKEN"},
		} {
			out, err := l.Start(t.Context(), procmgr.StartRequest{Command: command, WorkDir: dir, Wait: long})
			require.NoError(t, err)
			require.Equal(t, want, out.Withheld, command)
		}
	})
}

// A file that cannot be read in time holds up nobody.
func TestWithheldInScriptsInTime(t *testing.T) {
	gone, ended := make(chan struct{}), make(chan struct{})
	require.Nil(t, procmgr.Within(time.Millisecond, func() []string {
		defer close(ended)
		<-gone
		return []string{"late"}
	}))
	close(gone)
	<-ended
	require.Equal(t, []string{"there"}, procmgr.Within(long, func() []string { return []string{"there"} }))
}
