//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep_test

import (
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/prockeep"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// What the program has that starts a process is what counts, not what the one
// had that started the keeper.
func TestEnvironmentOfTheOpener(t *testing.T) {
	t.Setenv("SOCKET", "/first")
	t.Setenv("MY_API_TOKEN", "very-secret-0123456789")
	dir := newDir(t)
	k := open(t, dir, nil)
	require.Equal(t, "/first\n", run(t, k, "echo $SOCKET").Text)

	t.Setenv("SOCKET", "/second")
	second := open(t, dir, nil)
	for _, m := range []procmgr.Manager{k, second, second.Chat("a")} {
		out := run(t, m, `echo "$SOCKET $MY_API_TOKEN"; env | grep -c very-secret`)
		require.Equal(t, "/second \n0\n", out.Text)
		require.Equal(t, []string{"MY_API_TOKEN"}, out.Withheld)
	}
}

// An environment travels once, and its sum after that. A keeper that does not know
// the sum asks for it: one that was upgraded, one that has followed a killed one,
// and one that was started anew. Nothing ever runs with another environment.
func TestEnvironmentBySum(t *testing.T) {
	dir := newDir(t)
	first, second := open(t, dir, nil), open(t, dir, nil)
	over := clientOf(t, first.Handler())
	check := func() {
		t.Helper()
		for i, m := range []procmgr.Manager{first, second, over, second.Chat("a"), first.Chat("b"), over.Chat("c")} {
			value := strconv.Itoa(i / 2)
			t.Setenv("BY_SUM", value)
			require.Equal(t, value+"\n", run(t, m, "echo $BY_SUM").Text)
		}
	}
	check()
	check()
	if runtime.GOOS == "linux" { // there are no upgrades elsewhere
		require.NoError(t, first.Upgrade(t.Context()))
		check()
	}
	kill(t, keeperPID(t, first))
	_, err := first.List(t.Context(), procmgr.ListRequest{}) // no call is under way when the last thread of the keeper ends
	require.NoError(t, err)
	check()
	require.NoError(t, open(t, dir, nil).Stop(t.Context()))
	check()
}

// The opener's directory is the default, and a relative one is resolved against
// it.
func TestDirectoryOfTheOpener(t *testing.T) {
	dir := newDir(t)
	k := open(t, dir, nil)
	here, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(here, "below"), 0o700))
	t.Chdir(here)
	require.Equal(t, here, run(t, k, "true").Process.WorkDir)
	out, err := k.Chat("a").Start(t.Context(), procmgr.StartRequest{Command: "true", WorkDir: "below", Wait: long})
	require.NoError(t, err)
	require.Equal(t, here+"/below", out.Process.WorkDir)
}

// Neither is part of what an ID stands for: after a deployment, a start that is
// asked for again is the same.
func TestReplayAfterADeployment(t *testing.T) {
	dir := newDir(t)
	req := procmgr.StartRequest{ID: "migrate", Command: "echo $SSH_AUTH_SOCK; echo x >> side-effect", Wait: long}
	t.Setenv("SSH_AUTH_SOCK", "/tmp/before")
	t.Chdir(t.TempDir())
	_, err := open(t, dir, nil).Chat("a").Start(t.Context(), req)
	require.NoError(t, err)
	file, err := filepath.Abs("side-effect")
	require.NoError(t, err)

	t.Setenv("SSH_AUTH_SOCK", "/tmp/after")
	t.Chdir(t.TempDir())
	out, err := open(t, dir, nil).Chat("a").Start(t.Context(), req)
	require.NoError(t, err)
	require.True(t, out.Attached)
	require.Equal(t, "/tmp/before\n", out.Text)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "x\n", string(data))
}

// Every command can read what the keeper has been started with. So no secret is
// in it, nor one of the options.
func TestNothingSecretOfTheKeeper(t *testing.T) {
	t.Setenv("MY_API_TOKEN", "very-secret-0123456789")
	t.Setenv("LANG", "C.UTF-8")
	k := open(t, newDir(t), &prockeep.Options{Local: proclocal.Options{
		Env: envpolicy.Policy{Set: map[string]string{"GIVEN": "very-secret-too"}},
	}})
	require.Equal(t, "very-secret-too\n", run(t, k, "echo $GIVEN").Text)
	proc := "/proc/" + strconv.Itoa(keeperPID(t, k))
	env, err := os.ReadFile(proc + "/environ")
	if err != nil {
		t.Log("this system does not tell environments")
		return
	}
	for kv := range strings.SplitSeq(strings.TrimRight(string(env), "\x00"), "\x00") {
		name, _, _ := strings.Cut(kv, "=")
		require.Contains(t, []string{"PATH", "HOME", "LANG", "TMPDIR", "TOOLPROC_KEEPER"}, name)
	}
	line, err := os.ReadFile(proc + "/cmdline")
	require.NoError(t, err)
	require.NotContains(t, string(line), "secret")
	comm, err := os.ReadFile(proc + "/comm")
	require.NoError(t, err)
	require.Equal(t, "toolproc-keeper\n", string(comm))
	cwd, err := os.Readlink(proc + "/cwd")
	require.NoError(t, err)
	require.Equal(t, "/", cwd)
	require.NotContains(t, run(t, k, "env; cat keeper.log 2>/dev/null").Text, "TOOLPROC_KEEPER")
}

// The keeper leads a session of its own, so that no terminal's end reaches it.
func TestSession(t *testing.T) {
	k := open(t, newDir(t), nil)
	own, err := unix.Getsid(0)
	require.NoError(t, err)
	session, err := unix.Getsid(keeperPID(t, k))
	require.NoError(t, err)
	require.NotEqual(t, own, session)
}

// A descriptor that this program has inherited, such as the pipe of a shell,
// does not stay open with the keeper.
func TestDescriptorsAreNotInherited(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	_, err = unix.FcntlInt(write.Fd(), unix.F_SETFD, 0)
	require.NoError(t, err)
	k := open(t, newDir(t), nil)
	require.NoError(t, write.Close())
	_, err = read.Read(make([]byte, 1)) // returns when nobody has the other end
	require.Error(t, err)
	run(t, k, "true")
}

// The values of a program's secrets are masked by the keeper, and by the next one from
// its first read on, after an upgrade and after a kill. No file has them.
func TestSecretsOfTheOpener(t *testing.T) {
	const token, named = "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "n4medValueOf-16-bytes"
	t.Setenv("GITHUB_TOKEN", token)
	dir, logs := newDir(t), t.TempDir()
	file := filepath.Join(t.TempDir(), ".env")
	require.NoError(t, os.WriteFile(file, []byte(token+" "+named+"\n"), 0o600))
	k := open(t, dir, &prockeep.Options{Local: proclocal.Options{LogDir: logs, Redact: []proclocal.Secret{{Name: "named", Value: named}}}})
	require.Empty(t, k.Options().Local.Redact)
	const masked = "[withheld: GITHUB_TOKEN] [withheld: named]\n"
	over := clientOf(t, k.Handler())
	for _, m := range []procmgr.Manager{k, k.Chat("a"), over, over.Chat("b")} {
		out := run(t, m, "cat "+file)
		require.Equal(t, masked, out.Text)
		require.Equal(t, []string{"GITHUB_TOKEN", "named"}, out.Redacted)
	}
	prints := func(i int) {
		t.Helper()
		id := strconv.Itoa(i)
		_, err := k.Input(t.Context(), "cat", procmgr.InputRequest{Data: []byte(id + " " + token + "\n"), Until: "^" + id + " .*$", Wait: long})
		require.NoError(t, err)
	}
	_, err := k.Start(t.Context(), procmgr.StartRequest{ID: "cat", Command: "cat; cat " + file, Stdin: procmgr.StdinPipe})
	require.NoError(t, err)
	prints(1)
	if runtime.GOOS == "linux" {
		require.NoError(t, k.Upgrade(t.Context()))
		prints(2)
		kill(t, keeperPID(t, k))
		_, err = k.List(t.Context(), procmgr.ListRequest{})
		require.NoError(t, err)
		prints(3)
	}
	_, err = k.Input(t.Context(), "cat", procmgr.InputRequest{Close: true})
	require.NoError(t, err)
	out, err := k.Output(t.Context(), "cat", procmgr.OutputRequest{Wait: long})
	require.NoError(t, err)
	require.Equal(t, procmgr.Exited, out.Process.State)
	require.NotContains(t, out.Text, token[4:])
	require.True(t, strings.HasSuffix(out.Text, masked), out.Text)
	if runtime.GOOS == "linux" {
		require.Contains(t, out.Text, "3 [withheld: GITHUB_TOKEN]\n")
	}
	for _, of := range []string{dir, logs} {
		require.NoError(t, filepath.WalkDir(of, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			require.NotContains(t, string(text), token[4:], path)
			require.NotContains(t, string(text), named[4:], path)
			return err
		}))
	}
	_, err = prockeep.Open(t.Context(), dir, &prockeep.Options{Local: proclocal.Options{Redact: []proclocal.Secret{{Name: "A", Value: "abc"}}}})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
}

// What real tools print of a secret is masked on every way to a process.
func TestSecretsOfTools(t *testing.T) {
	const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	t.Setenv("GITHUB_TOKEN", token)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".env"), []byte("# a comment\nGITHUB_TOKEN="+token+"\n"), 0o600))
	local, err := proclocal.New(nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, local.Close()) }()
	handler, err := prochttp.NewHandler(local, &prochttp.HandlerOptions{Insecure: true})
	require.NoError(t, err)
	k := open(t, newDir(t), nil)
	hosts := map[string]procmgr.Host{"here": local, "over HTTP": clientOf(t, handler), "in a keeper": k, "through a keeper's handler": clientOf(t, k.Handler())}
	for name, host := range hosts {
		for program, command := range map[string]string{
			"env": "env", "cat": "cat .env", "base64": "base64 .env", "xxd": "xxd -p .env", "jq": "jq -R . .env",
			"git":     "git init -q $$ && cd $$ && git remote add o https://ada:$(sed -n s/GITHUB_TOKEN=//p ../.env)@127.0.0.1/x && git remote -v",
			"python3": "python3 -c 'print(repr(open(\".env\").read()))'",
		} {
			if _, err := exec.LookPath(program); err != nil {
				testenv.Lacks(t, program, "it is not on PATH")
			}
			out, err := host.Chat("tools").Start(t.Context(), procmgr.StartRequest{
				Command: command, WorkDir: dir, Env: map[string]string{"COPY_TOKEN": token}, Wait: long,
			})
			require.NoError(t, err)
			require.Regexp(t, `\[withheld: (GITHUB|COPY)_TOKEN\]`, out.Text, "%s %s", command, name)
			plain := strings.ReplaceAll(out.Text, "\n", "")
			for _, part := range []string{token[4:12], base64.StdEncoding.EncodeToString([]byte(token))[4:20], hex.EncodeToString([]byte(token[4:12]))} {
				require.NotContains(t, plain, part, "%s %s", command, name)
			}
			require.NotEmpty(t, out.Redacted)
		}
	}
}
