package proclocal_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// setHome sets the variable from which the system tells the user's home.
func setHome(t *testing.T, dir string) {
	t.Setenv("HOME", dir)
	t.Setenv("USERPROFILE", dir)
}

// A request runs in the directory that it names, else in the configured one, else in the
// program's own. ~ is the same directory as for the command's own shell.
func TestStartDirectory(t *testing.T) {
	base, home, own, hosts, requests := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	for _, dir := range []string{base, home, own} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	}
	gone := filepath.Join(base, "gone")
	require.NoError(t, os.Mkdir(gone, 0o700))
	setHome(t, home)
	t.Chdir(own)
	in := func(dir string) proclocal.Options { return proclocal.Options{WorkDir: dir} }
	policy := func(home string) proclocal.Options {
		return proclocal.Options{Env: envpolicy.Policy{Set: map[string]string{"HOME": home}}}
	}
	for _, tt := range []struct {
		name  string
		opts  proclocal.Options
		env   map[string]string
		asked string
		want  string
	}{
		{"asked for, and the configured one has gone", in(gone), nil, home, home},
		{"configured", in(base), nil, "", base},
		{"configured relative to the program's own", in("sub"), nil, "", filepath.Join(own, "sub")},
		{"configured by ~", in("~/sub"), nil, "", filepath.Join(home, "sub")},
		{"relative to the configured one", in(base), nil, "sub", filepath.Join(base, "sub")},
		{"none configured", in(""), nil, "", own},
		{"home", in(base), nil, "~", home},
		{"home with a slash", in(base), nil, "~/", home},
		{"the policy's home", policy(hosts), nil, "~", hosts},
		{"the hook's home", proclocal.Options{UpdateEnv: func(_ string, env []string) ([]string, error) {
			return append(env, "HOME="+home, "HOME="+hosts), nil
		}}, nil, "~", hosts},
		{"the request's home", policy(hosts), map[string]string{"HOME": requests}, "~", requests},
		{"no home in the environment", proclocal.Options{Env: envpolicy.Policy{Exclude: []string{"HOME"}}}, nil, "~", home},
		{"no path as home", policy("~"), nil, "~", home},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLocal(t, &tt.opts)
			if tt.opts.WorkDir == gone {
				require.NoError(t, os.Remove(gone))
			}
			out := start(t, l, procmgr.StartRequest{Command: "pwd -P; echo $PWD", WorkDir: tt.asked, Env: tt.env, Wait: long})
			require.Equal(t, filepath.ToSlash(tt.want+"\n"+tt.want+"\n"), filepath.ToSlash(out.Text))
			require.Equal(t, tt.want, out.Process.WorkDir)
		})
	}
}

// Nothing runs if a configured directory cannot be used, because "rm -rf build" is
// meant for that one: New fails, and Start if the directory has gone since, or is a
// chat's. No other one takes its place.
func TestDirectoryMissing(t *testing.T) {
	own := t.TempDir()
	gone, file := filepath.Join(own, "gone"), filepath.Join(own, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(own, "sub"), 0o700))
	setHome(t, own)
	t.Chdir(own)
	configured := func(says string) string {
		return "the configured directory cannot be used (" + says + "); name another one, or have the host's WorkDir corrected"
	}
	missing := func(dir string) string {
		return "no such directory: " + dir + "; name one that exists and can be entered"
	}
	for _, tt := range []struct {
		name, configured, asked, says string
	}{
		{"configured", gone, "", configured("no such directory: " + gone)},
		{"configured, relative", "gone", "", configured("no such directory: " + gone)},
		{"configured, below the home", "~/gone", "", configured("no such directory: " + gone)},
		{"configured, a file", file, "", configured("not a directory: " + file)},
		{"asked for, relative to it", gone, "sub", configured("no such directory: " + gone)},
		{"asked for", own, gone, missing(gone)},
		{"asked for, below the configured one", own, "gone", missing(gone)},
		{"asked for, below the home", own, "~/gone", missing(gone)},
		{"another user's home", own, "~nobody", missing(filepath.Join(own, "~nobody"))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.configured != own {
				_, err := proclocal.New(&proclocal.Options{WorkDir: tt.configured})
				require.ErrorIs(t, err, procmgr.ErrInvalid)
				require.ErrorContains(t, err, "Options.WorkDir: no")
			}
			l := newLocal(t, &proclocal.Options{PerChat: func(context.Context, string) (*proclocal.ChatOptions, error) {
				return &proclocal.ChatOptions{WorkDir: tt.configured}, nil
			}})
			out, err := l.Start(t.Context(), procmgr.StartRequest{Command: "touch ran", WorkDir: tt.asked, Wait: long})
			require.ErrorIs(t, err, procmgr.ErrInvalid)
			require.Equal(t, tt.says, procmgr.Reason(err))
			require.Empty(t, out.Process.ID)
			require.Equal(t, own+"\n", start(t, l, procmgr.StartRequest{Command: "pwd -P", WorkDir: own, Wait: long}).Text)
		})
	}
	require.NoFileExists(t, filepath.Join(own, "ran"))
	require.NoFileExists(t, filepath.Join(own, "sub", "ran"))
}

// The program's own directory is the current one at that moment, and may be
// gone.
func TestStartDirectoryGone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a directory that a program is in cannot be removed there")
	}
	home, own, next := t.TempDir(), t.TempDir(), t.TempDir()
	setHome(t, home)
	t.Chdir(own)
	l := newLocal(t, nil)
	pwd := func() procmgr.Output {
		out := run(t, l, "pwd -P")
		require.Equal(t, out.Process.WorkDir+"\n", out.Text)
		return out
	}
	require.Equal(t, own, pwd().Process.WorkDir)
	t.Chdir(next)
	require.Equal(t, next, pwd().Process.WorkDir)

	require.NoError(t, os.Remove(next))
	for _, tt := range []struct{ asked, says string }{
		{"", "the program's own directory has gone, or cannot be entered; name a directory"},
		{"sub", "the program's own directory has gone, or cannot be entered; name a directory"},
		{"~/x", "no such directory: " + filepath.Join(home, "x") + "; name one that exists and can be entered"},
	} {
		_, err := l.Start(t.Context(), procmgr.StartRequest{Command: "true", WorkDir: tt.asked})
		require.ErrorIs(t, err, procmgr.ErrInvalid)
		require.Equal(t, tt.says, procmgr.Reason(err))
	}
	setHome(t, "")
	_, err := l.Start(t.Context(), procmgr.StartRequest{Command: "true", WorkDir: "~/x"})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	require.Equal(t, "no home is known for ~/x; name the directory in full", procmgr.Reason(err))
}
