package sandbox_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/contrib/sandbox"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// newBoundary returns a Local whose commands are in a box of Boundary.
func newBoundary(t testing.TB, p sandbox.Policy) *proclocal.Local {
	t.Helper()
	return newLocal(t, newBoundaryBox(t, p))
}

func newBoundaryBox(t testing.TB, p sandbox.Policy) *sandbox.Box {
	t.Helper()
	programs(t, "bwrap", "nsenter")
	p.Level = sandbox.Boundary
	return newBox(t, p)
}

// fails runs a command that does not exit with 0, and returns what it has printed.
func fails(t testing.TB, m procmgr.Manager, command string) string {
	t.Helper()
	out := run(t, m, command)
	require.NotZero(t, *out.Process.ExitCode, "%s: %s", command, out.Text)
	return out.Text
}

// visibleDir returns a directory that a box does not hide as it hides /tmp.
func visibleDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "toolproc-test-") //nolint:usetesting // with Boundary, /tmp is another one
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// repository makes a directory of Write with files that are not to be written.
func repository(t testing.TB, dir string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, ".git", "hooks"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".git", "config"), []byte("own\n"), 0o644))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "keys", "deep"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "keys", "deep", "key"), []byte("secret\n"), 0o644))
}

// A Local with Boundary is a Host like another one.
func TestHeldBoundaryHost(t *testing.T) {
	held(t)
	programs(t, "bwrap", "nsenter")
	box := newBox(t, sandbox.Policy{Write: []string{os.TempDir()}, Level: sandbox.Boundary})
	proctest.TestHost(t, func(t *testing.T) procmgr.Host { return newLocal(t, box) })
}

// Commands write below Write and in the /tmp of the box, and nowhere else. TestAttacks has
// the ways to write elsewhere.
func TestBoundaryWrite(t *testing.T) {
	for name, base := range map[string]string{"visible": visibleDir(t), "in /tmp": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			in, outside := filepath.Join(base, "in"), filepath.Join(base, "out")
			for _, dir := range []string{in, outside} {
				require.NoError(t, os.Mkdir(dir, 0o755))
			}
			l := newBoundary(t, sandbox.Policy{Write: []string{in}})
			succeeds(t, l, `echo a >'`+in+`/a' && echo b >"$TMPDIR/b" && echo c >/tmp/c && echo d >/dev/null && echo e >/dev/shm/e`)
			require.Equal(t, "b\nc\ne\n", succeeds(t, l, `cat /tmp/b /tmp/c /dev/shm/e`))
			require.FileExists(t, filepath.Join(in, "a"))
			for _, command := range []string{
				`echo x >'` + outside + `/new'`, `mv '` + in + `/a' '` + outside + `'`, `echo x >/etc/toolproc-test`,
				`echo 0 >/proc/self/oom_score_adj`, `echo 500 >/proc/` + strconv.Itoa(os.Getpid()) + `/oom_score_adj`,
			} {
				if out := run(t, l, command); name == "visible" {
					require.NotZero(t, *out.Process.ExitCode, "%s: %s", command, out.Text)
				}
			}
			entries, err := os.ReadDir(outside)
			require.NoError(t, err)
			require.Empty(t, entries)
			require.NoFileExists(t, "/tmp/c")
		})
	}
}

// What is protected or hidden is so whatever is above it, and whatever it is called
// afterwards.
func TestBoundaryProtect(t *testing.T) {
	for name, dir := range map[string]string{"visible": visibleDir(t), "in /tmp": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			repository(t, dir)
			at := func(name string) string { return filepath.Join(dir, name) }
			l := newBoundary(t, sandbox.Policy{
				Write: []string{dir}, Protect: []string{at(".git/hooks"), at(".git/config")}, Hide: []string{at("keys/deep")},
			})
			for _, command := range []string{
				`echo x >.git/hooks/pre-commit`, `echo x >>.git/config`, `rm -f .git/config`, `mv .git .g`, `mv .git/hooks .git/h`, `rmdir .git/hooks`,
				`echo x >new && mv -f new .git/config`, `echo x >new && ln -f new .git/config`, `ln .git/config c`, `ln -sfn /tmp .git/hooks/d`, `chmod 777 .git/hooks`,
				`mv keys k`, `mv keys/deep keys/d`, `cat keys/deep/key`, `ls keys/deep`, `cp -r keys k`, `rm -rf keys`, `ln keys/deep/key k`, `chmod 755 keys/deep`,
				`cat /proc/self/root` + at("keys/deep/key"), `cd keys/deep`,
				`unshare -Ur sh -c 'umount .git/hooks || umount -l keys/deep || mount -o remount,rw .git/hooks'`,
			} {
				fails(t, l, `cd '`+dir+`' && `+command)
			}
			succeeds(t, l, `cd '`+dir+`' && echo x >.git/index && mv .git/index .git/HEAD && mkdir keys/open && echo x >keys/open/x`)
			succeeds(t, l, `cd '`+dir+`' && ln -s .git g && ln -s .git/hooks h`)
			fails(t, l, `cd '`+dir+`' && echo x >g/hooks/x || echo x >h/x`)
			require.NoError(t, os.WriteFile(at(".git/config.lock"), []byte("own\n"), 0o644)) // as git config does
			require.NoError(t, os.Rename(at(".git/config.lock"), at(".git/config")))
			fails(t, l, `cd '`+dir+`' && echo x >>.git/config || rm .git/config`) // the rule begins again
			text, err := os.ReadFile(at(".git/config"))
			require.NoError(t, err)
			require.Equal(t, "own\n", string(text))
			text, err = os.ReadFile(at("keys/deep/key"))
			require.NoError(t, err)
			require.Equal(t, "secret\n", string(text))
			entries, err := os.ReadDir(at(".git/hooks"))
			require.NoError(t, err)
			require.Empty(t, entries)
		})
	}
}

// A directory of Write below one that is hidden is there all the same, and the way to it
// tells nothing. Below /tmp, the way is made of directories of the box.
func TestBoundaryHide(t *testing.T) {
	for name, home := range map[string]string{"visible": visibleDir(t), "in /tmp": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			work := filepath.Join(home, "a", "work")
			require.NoError(t, os.MkdirAll(work, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(home, "key"), []byte("secret"), 0o644))
			l := newBoundary(t, sandbox.Policy{Write: []string{work}, Hide: []string{home}})
			succeeds(t, l, `cd '`+work+`' && echo a >a && cat a`)
			fails(t, l, `cat '`+home+`/key'`)
			if name == "in /tmp" {
				return
			}
			for _, command := range []string{`ls '` + home + `'`, `echo x >'` + home + `/a/new'`, `echo x >'` + home + `/new'`, `mv '` + home + `/a' '` + home + `/b'`} {
				fails(t, l, command)
			}
			_, err := l.Start(t.Context(), procmgr.StartRequest{Command: "pwd", WorkDir: home})
			require.ErrorIs(t, err, procmgr.ErrInvalid)
			require.ErrorContains(t, err, "hides")
			out, err := l.Start(t.Context(), procmgr.StartRequest{Command: "pwd", WorkDir: work, Wait: long})
			require.NoError(t, err)
			require.Equal(t, work+"\n", out.Text)
		})
	}
}

// A command cannot run in a directory of the host that the /tmp of the box covers. It
// does not run elsewhere in its place.
func TestBoundaryDirectory(t *testing.T) {
	dir := t.TempDir()
	l := newBoundary(t, sandbox.Policy{})
	_, err := l.Start(t.Context(), procmgr.StartRequest{Command: "pwd", WorkDir: dir})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	require.ErrorContains(t, err, "/tmp of its own")
	link := filepath.Join(visibleDir(t), "link")
	require.NoError(t, os.Symlink(dir, link))
	_, err = l.Start(t.Context(), procmgr.StartRequest{Command: "pwd", WorkDir: link})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
}

// What is between two directories is not swapped for a link before the next command.
func TestBoundarySwapped(t *testing.T) {
	for name, base := range map[string]string{"visible": visibleDir(t), "in /tmp": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			outer, outside := filepath.Join(base, "outer"), filepath.Join(base, "outside")
			inner := filepath.Join(outer, "inner")
			for _, dir := range []string{inner, outside} {
				require.NoError(t, os.MkdirAll(dir, 0o755))
			}
			l := newBoundary(t, sandbox.Policy{Write: []string{outer, inner}})
			succeeds(t, l, `rmdir '`+inner+`' && ln -s '`+outside+`' '`+inner+`'`)
			fails(t, l, `echo a >'`+inner+`/a'`)
			require.NoFileExists(t, filepath.Join(outside, "a"))

			// Neither is a parent that is in the /tmp of the box.
			fails(t, l, `mv '`+outer+`' '`+outer+`.old' || mv '`+base+`' '`+base+`.old' || rm -rf '`+base+`' && test ! -e '`+base+`'`)
			succeeds(t, l, `test -d '`+outer+`'`)

			// The host may do so, and then nothing is started.
			require.NoError(t, os.Rename(outer, outer+".old"))
			require.NoError(t, os.Symlink(outside, outer))
			_, err := l.Start(t.Context(), procmgr.StartRequest{Command: "true"})
			require.ErrorIs(t, err, procmgr.ErrInvalid)
			require.ErrorContains(t, err, outer)
		})
	}
}

// get fetches a page from a port of 127.0.0.1.
const get = `python3 -c 'import sys, urllib.request; print(urllib.request.urlopen("http://127.0.0.1:" + sys.argv[1] + "/page").read().decode())' `

// A server of one command answers in the next, can be waited for and ended in others, and
// with Boundary it is cut off from the host. TestAttacks shows that commands reach no
// process but each other.
func TestServer(t *testing.T) {
	programs(t, "python3")
	for name, newBoxed := range levels {
		t.Run(name, func(t *testing.T) {
			dir, policy := visibleDir(t), sandbox.Policy{}
			if name == "Boundary" {
				policy.Network = sandbox.NoNetwork
			}
			policy.Write = []string{dir}
			l := newBoxed(t, policy)
			out := begin(t, l, procmgr.StartRequest{Command: `cd '` + dir + `' && echo hello >page && echo $$ >pid && exec python3 -u -m http.server --bind 127.0.0.1 0`, Background: true}, `port \d+`)
			port := regexp.MustCompile(`port (\d+)`).FindStringSubmatch(out.Text)[1]
			number, err := strconv.Atoi(port)
			require.NoError(t, err)
			out, err = l.Output(t.Context(), out.Process.ID, procmgr.OutputRequest{Wait: long, UntilListening: number})
			require.NoError(t, err)
			require.NotEmpty(t, out.Listening, out.Text)
			require.Contains(t, succeeds(t, l, get+port), "hello")
			_, err = net.Dial("tcp", "127.0.0.1:"+port)
			require.Equal(t, name == "Boundary", err != nil)
			if name == "Accidents" { // where commands share one domain of Landlock
				succeeds(t, l, `readlink /proc/"$(cat '`+dir+`/pid')"/exe`)
			}
			succeeds(t, l, `kill "$(cat '`+dir+`/pid')"`)
			ended := waitForEnd(t, l, out.Process.ID)
			require.Equal(t, 143, *ended.Process.ExitCode)
			if name == "Boundary" {
				require.Empty(t, ended.Process.Signal)
				require.Equal(t, procmgr.CauseExit, ended.Process.EndedBy)
			}
		})
	}
}

// begin starts a command and waits for a line of it.
func begin(t testing.TB, m procmgr.Manager, req procmgr.StartRequest, until string) procmgr.Output {
	t.Helper()
	out, err := m.Start(t.Context(), req)
	require.NoError(t, err)
	out, err = m.Output(t.Context(), out.Process.ID, procmgr.OutputRequest{Wait: long, Until: until})
	require.NoError(t, err)
	require.True(t, out.Matched, out.Text)
	return out
}

func waitForEnd(t testing.TB, m procmgr.Manager, id string) procmgr.Output {
	t.Helper()
	out, err := m.Output(t.Context(), id, procmgr.OutputRequest{Wait: long})
	require.NoError(t, err)
	require.Equal(t, procmgr.Exited, out.Process.State)
	return out
}

// Each box has a network of its own, in which it makes the sockets of the usual kinds.
func TestBoundaryNetworks(t *testing.T) {
	programs(t, "python3")
	const of = `readlink /proc/self/ns/net /proc/self/ns/ipc`
	one, two := newBoundary(t, sandbox.Policy{Network: sandbox.NoNetwork}), newBoundary(t, sandbox.Policy{Network: sandbox.NoNetwork})
	first := succeeds(t, one, of)
	require.Equal(t, first, succeeds(t, one, of))
	require.NotEqual(t, first, succeeds(t, two, of))
	own, err := os.Readlink("/proc/self/ns/net")
	require.NoError(t, err)
	require.Contains(t, succeeds(t, newBoundary(t, sandbox.Policy{}), of), own+"\n")
	succeeds(t, one, `python3 -c 'import socket; socket.socket(socket.AF_INET6); socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); socket.socketpair(); socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)'`)
	outside, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer outside.Close()
	_, port, err := net.SplitHostPort(outside.Addr().String())
	require.NoError(t, err)
	require.Contains(t, fails(t, one, get+port), "Connection refused")
}

// The keys of a terminal reach the shell, and not the program in front of it.
func TestBoundaryKeys(t *testing.T) {
	l := newBoundary(t, sandbox.Policy{})
	out := begin(t, l, procmgr.StartRequest{
		Command: `trap 'echo got; exit 7' INT; echo ready; while :; do sleep 0.05; done`, Stdin: procmgr.StdinTerminal,
	}, "ready")
	_, err := l.Input(t.Context(), out.Process.ID, procmgr.InputRequest{Data: []byte("\x03")})
	require.NoError(t, err)
	out = waitForEnd(t, l, out.Process.ID)
	require.Equal(t, 7, *out.Process.ExitCode)
	require.Contains(t, out.Text, "got")
}

// No program in front of the box obeys a variable of a command that the loader reads. The
// shell does.
func TestBoundaryEnvironment(t *testing.T) {
	dir := visibleDir(t)
	l := newBoundary(t, sandbox.Policy{Write: []string{dir}})
	out, err := l.Start(t.Context(), procmgr.StartRequest{
		Command: `echo "$LD_DEBUG $A"`, Wait: long, Env: map[string]string{"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": filepath.Join(dir, "trace"), "A": "b c"},
	})
	require.NoError(t, err)
	require.Equal(t, "files b c\n", out.Text)
	var ran strings.Builder
	traces, err := filepath.Glob(filepath.Join(dir, "trace.*"))
	require.NoError(t, err)
	for _, trace := range traces {
		text, err := os.ReadFile(trace)
		require.NoError(t, err)
		ran.Write(text)
	}
	require.Contains(t, ran.String(), "transferring control: ")
	for _, program := range []string{"env", "nsenter", "unshare", "bwrap"} {
		require.NotContains(t, ran.String(), program+"\n")
	}
}

// With UnixSockets, a box begins with nothing, and commands reach the sockets below Read,
// Write, and directories of the box.
func TestBoundaryUnixSockets(t *testing.T) {
	programs(t, "bwrap", "nsenter", "python3")
	home := visibleDir(t)
	t.Setenv("HOME", home)
	require.NoError(t, os.WriteFile(filepath.Join(home, "secret"), nil, 0o644))
	write, read, outside, nested := filepath.Join(home, "work"), t.TempDir(), visibleDir(t), t.TempDir()
	require.NoError(t, os.Mkdir(write, 0o755))
	var paths []string
	for _, dir := range []string{write, read, outside, nested} {
		server, err := prochttp.ListenUnix(filepath.Join(dir, "s"))
		require.NoError(t, err)
		defer server.Close()
		paths = append(paths, filepath.Join(dir, "s"))
	}
	box := newBox(t, sandbox.Policy{Write: []string{write}, Read: []string{read}, UnixSockets: true, Level: sandbox.Boundary})
	l := newLocal(t, box)
	in := func(command string) int {
		t.Helper()
		out, err := l.Start(t.Context(), procmgr.StartRequest{Command: command, WorkDir: write, Wait: long})
		require.NoError(t, err)
		t.Log(out.Text)
		return *out.Process.ExitCode
	}
	connect := `/usr/bin/env python3 -S -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' `
	if path, err := exec.LookPath("python3"); err == nil && in(`test -x `+path) != 0 {
		connect = `/usr/bin/perl -MSocket -e 'socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die; connect($s, pack_sockaddr_un($ARGV[0])) or die $!' `
	}
	require.Zero(t, in(connect+paths[0]))
	require.Zero(t, in(connect+paths[1]))
	require.NotZero(t, in(connect+paths[2]))
	require.NotZero(t, in(connect+paths[3]))
	for _, command := range []string{
		`ls ` + outside, `cat ` + home + `/secret`, `echo x >` + read + `/x`, `echo x >/usr/x`, `echo x >/x`, `mkdir /srv/x`, `ls /root/.ssh`,
	} {
		require.NotZero(t, in(command), command)
	}
	require.Zero(t, in(`echo a >~/a && echo b >/run/b && echo c >/var/run/c && echo d >$TMPDIR/d && echo e >e && test -d `+read))
	require.Zero(t, in(`cat ~/a /run/b /run/c /tmp/d e && test "$(ls -A /run)" = "$(printf 'b\nc')"`))
	require.NoFileExists(t, filepath.Join(home, "a"))
	require.NoFileExists(t, "/run/b")
	require.FileExists(t, filepath.Join(write, "e"))
	_, err := l.Start(t.Context(), procmgr.StartRequest{Command: "true", WorkDir: outside})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	require.ErrorContains(t, err, "Read and Write alone")
}

// A file is neither protected nor hidden: an editor outside of the box that replaces it
// would end the rule while a command runs. New says what to do instead, and that holds.
func TestBoundaryFiles(t *testing.T) {
	programs(t, "bwrap", "nsenter")
	dir, own := visibleDir(t), filepath.Join(visibleDir(t), "app")
	repository(t, dir)
	require.NoError(t, os.Mkdir(own, 0o755))
	env, target, link := filepath.Join(dir, "file"), filepath.Join(own, "env"), filepath.Join(dir, ".env")
	for _, file := range []string{env, target} {
		require.NoError(t, os.WriteFile(file, []byte("SECRET"), 0o644))
	}
	for name, p := range map[string]sandbox.Policy{
		"Hide": {Hide: []string{env}}, "Protect": {Protect: []string{env}}, "Hide outside": {Hide: []string{target}},
	} {
		p.Write, p.Level = []string{dir}, sandbox.Boundary
		_, err := sandbox.New(p)
		require.ErrorIs(t, err, procmgr.ErrInvalid, name)
		require.ErrorContains(t, err, "symbolic link in its place", name)
	}

	require.NoError(t, os.Symlink(target, link))
	l := newBoundary(t, sandbox.Policy{Write: []string{dir}, Hide: []string{link}})
	running := begin(t, l, procmgr.StartRequest{
		Command: `cd '` + dir + `' && echo ready && while ! test -e go; do sleep 0.01; done; cat .env || echo hidden`, Background: true,
	}, "ready")
	require.NoError(t, os.WriteFile(target+".new", []byte("NEWSECRET"), 0o644)) // as an editor does
	require.NoError(t, os.Rename(target+".new", target))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o644))
	out := waitForEnd(t, l, running.Process.ID)
	require.NotContains(t, out.Text, "SECRET")
	require.Contains(t, out.Text, "hidden")

	require.NoError(t, os.WriteFile(link+".new", []byte("NEWSECRET"), 0o644)) // as sed -i does
	require.NoError(t, os.Rename(link+".new", link))
	_, err := l.Start(t.Context(), procmgr.StartRequest{Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	require.ErrorContains(t, err, "is no link to")
	require.NoError(t, os.Remove(link))
	require.NoError(t, os.Symlink(target, link))
	fails(t, l, `cat '`+link+`'`)
}

// A name that a command could give to something else cannot be protected.
func TestBoundaryProtectLink(t *testing.T) {
	programs(t, "bwrap", "nsenter")
	dir := visibleDir(t)
	for _, name := range []string{"shared", "real/.git/hooks", "outside"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
	}
	for name, target := range map[string]string{"hooks": "shared", "repo": "real", "out": filepath.Join(dir, "outside")} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	for _, path := range []string{"hooks", "repo/.git/hooks", "repo/../out"} {
		_, err := sandbox.New(sandbox.Policy{Write: []string{dir}, Protect: []string{filepath.Join(dir, "real"), dir + "/" + path}, Level: sandbox.Boundary})
		require.ErrorIs(t, err, procmgr.ErrInvalid, path)
		require.ErrorContains(t, err, "symbolic link below Write", path)
	}
	link := filepath.Join(visibleDir(t), "link")
	require.NoError(t, os.Symlink(dir, link))
	l := newBoundary(t, sandbox.Policy{Write: []string{link}, Protect: []string{filepath.Join(link, "real")}})
	fails(t, l, `echo x >'`+link+`/real/x'`)
}

// A program that a command may have put there does not run outside of the box.
func TestBoundaryPlanted(t *testing.T) {
	programs(t, "bwrap", "nsenter")
	dir, ran := visibleDir(t), filepath.Join(t.TempDir(), "ran")
	bin := filepath.Join(dir, "node_modules", ".bin")
	require.NoError(t, os.MkdirAll(bin, 0o755))
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	for _, name := range []string{"bwrap", "nsenter", "unshare", "env", "sh", "true"} {
		real, err := exec.LookPath(name)
		require.NoError(t, err)
		text := "#!" + "/bin/sh\necho " + name + " >>'" + ran + "'\nexec " + real + ` "$@"` + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755))
	}
	succeeds(t, newBoundary(t, sandbox.Policy{Write: []string{dir}}), `true`)
	require.NoFileExists(t, ran)
	t.Setenv("PATH", bin)
	_, err := sandbox.New(sandbox.Policy{Write: []string{dir}, Level: sandbox.Boundary})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, "no program bwrap that commands cannot replace")
}

// Wherever TMPDIR is, commands have a temporary directory, and nothing of the box's own.
func TestBoundaryTMPDIR(t *testing.T) {
	for name, at := range map[string]func(work string) string{
		"outside of /tmp":             func(string) string { return visibleDir(t) },
		"below Write":                 func(work string) string { return filepath.Join(work, "tmp") },
		"below the working directory": func(work string) string { t.Chdir(filepath.Dir(work)); return filepath.Join(filepath.Dir(work), "tmp") },
	} {
		for place, base := range map[string]string{"visible": visibleDir(t), "in /tmp": t.TempDir()} {
			t.Run(name+", "+place, func(t *testing.T) {
				work := filepath.Join(base, "work")
				require.NoError(t, os.Mkdir(work, 0o755))
				temp := at(work)
				require.NoError(t, os.MkdirAll(temp, 0o755))
				t.Setenv("TMPDIR", temp)
				l := newBoundary(t, sandbox.Policy{Write: []string{work}})
				succeeds(t, l, `echo a >"$TMPDIR/a" && echo b >'`+work+`/b'`)
				require.Equal(t, "a\n", succeeds(t, l, `cat "$TMPDIR/a"`))
				boxes, err := filepath.Glob(temp + "/toolproc-boxes-*/*")
				require.NoError(t, err)
				require.Len(t, boxes, 1)
				for _, command := range []string{`ls '` + boxes[0] + `'`, `ls '` + filepath.Dir(boxes[0]) + `'`, `mv '` + filepath.Dir(boxes[0]) + `' '` + work + `/t'`, `echo x >'` + boxes[0] + `/start'`, `mv '` + temp + `' '` + work + `/t'`, `mv '` + boxes[0] + `' '` + work + `/t'`} {
					fails(t, l, command)
				}
			})
		}
	}
}

// Where TMPDIR is below Write, commands of one box, also of one that is closed, change
// nothing that another box mounts.
func TestBoundaryOtherBox(t *testing.T) {
	work, outside := visibleDir(t), visibleDir(t)
	t.Setenv("TMPDIR", work)
	first := newBoundary(t, sandbox.Policy{Write: []string{work}})
	second := newBoundary(t, sandbox.Policy{Write: []string{work}})
	run(t, first, `find '`+work+`' -name shm -exec rm -rf {} \; -exec ln -s '`+outside+`' {} \;`)
	succeeds(t, second, `echo x >/dev/shm/x`)
	require.NoFileExists(t, filepath.Join(outside, "x"))
}

// A directory of somebody else in the place of that for boxes is not used.
func TestBoundaryTakenDirectory(t *testing.T) {
	temp := visibleDir(t)
	t.Setenv("TMPDIR", temp)
	taken := filepath.Join(temp, "toolproc-boxes-"+strconv.Itoa(os.Geteuid()))
	require.NoError(t, os.Symlink(visibleDir(t), taken))
	succeeds(t, newBoundary(t, sandbox.Policy{}), "true")
	left, err := os.ReadDir(taken)
	require.NoError(t, err)
	require.Empty(t, left)
}

// Close removes directories that commands have made read-only, and follows no link.
func TestBoundaryCloseReadOnly(t *testing.T) {
	programs(t, "bwrap", "nsenter")
	temp, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
	require.NoError(t, os.Mkdir(outside, 0o755))
	t.Setenv("TMPDIR", temp)
	box, err := sandbox.New(sandbox.Policy{Level: sandbox.Boundary})
	require.NoError(t, err)
	succeeds(t, newLocal(t, box), `mkdir -p /tmp/a/b && touch /tmp/a/b/c && ln -s '`+outside+`' /tmp/a/b/d && chmod 0 /tmp/a/b && chmod 500 /tmp/a`)
	require.NoError(t, box.Close())
	left, err := filepath.Glob(temp + "/*/*")
	require.NoError(t, err)
	require.Empty(t, left)
	info, err := os.Stat(outside)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), info.Mode().Perm())
}

// A descriptor that this program has inherited leads no command out of its box.
func TestBoundaryInherited(t *testing.T) {
	inherited, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY, 0) // and not O_CLOEXEC
	require.NoError(t, err)
	defer unix.Close(inherited)
	require.Equal(t, "0\n1\n2\n3\n", succeeds(t, newBoundary(t, sandbox.Policy{}), `ls /proc/self/fd`)) // 3 is of ls
}

// A file system that is mounted while a command runs is not there for it. One of the
// kernel that is mounted below Write is not for commands to write.
func TestBoundaryMount(t *testing.T) {
	root(t)
	programs(t, "bwrap", "nsenter", "unshare")
	if os.Getenv("TOOLPROC_TEST_MOUNT") == "" { // in a namespace whose mounts propagate
		self, err := os.Executable()
		require.NoError(t, err)
		cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "--propagation", "shared", self, "-test.run=^TestBoundaryMount$", "-test.v")
		cmd.Env = append(os.Environ(), "TOOLPROC_TEST_MOUNT=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Contains(t, string(out), "--- PASS")
		return
	}
	dir, outside := visibleDir(t), visibleDir(t)
	l := newBoundary(t, sandbox.Policy{Write: []string{dir}})
	running := begin(t, l, procmgr.StartRequest{
		Command: `cd '` + dir + `' && echo ready && while ! test -e go; do sleep 0.01; done; echo x >'` + outside + `/x'; ls '` + outside + `'; echo end`, Background: true,
	}, "ready")
	require.NoError(t, unix.Mount("tmpfs", outside, "tmpfs", 0, ""))
	defer func() { require.NoError(t, unix.Unmount(outside, 0)) }()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "mounted"), nil, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o644))
	out := waitForEnd(t, l, running.Process.ID)
	require.Contains(t, out.Text, "end")
	require.NotContains(t, out.Text, "mounted")
	require.NoFileExists(t, filepath.Join(outside, "x"))

	proc := filepath.Join(dir, "a root", "proc")
	require.NoError(t, os.MkdirAll(proc, 0o755))
	require.NoError(t, unix.Mount("proc", proc, "proc", 0, ""))
	defer func() { require.NoError(t, unix.Unmount(proc, 0)) }()
	command := `cd '` + proc + `/sys/vm' && old=$(cat swappiness) && echo "$old" >swappiness`
	succeeds(t, newLocal(t, nil), command)
	require.Contains(t, fails(t, l, command), "Read-only file system")
	require.NoError(t, unix.Mount("tmpfs", filepath.Dir(proc), "tmpfs", 0, "")) // covers it
	succeeds(t, l, `echo x >'`+filepath.Dir(proc)+`/x'`)
	require.NoError(t, unix.Unmount(filepath.Dir(proc), 0))
}

// Where no namespaces of users are allowed, the error has the command that allows them.
func TestBoundaryNoNamespaces(t *testing.T) {
	programs(t, "bwrap", "nsenter", "unshare")
	if os.Getenv("TOOLPROC_TEST_NAMESPACES") != "" { // in a namespace that allows none below it
		_, err := sandbox.New(sandbox.Policy{Level: sandbox.Boundary})
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.ErrorContains(t, err, "sysctl -w user.max_user_namespaces=")
		return
	}
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "unshare", "--user", "--map-root-user", "sh", "-c", `echo 0 >/proc/sys/user/max_user_namespaces && exec "$0" "$@"`, self, "-test.run=^TestBoundaryNoNamespaces$", "-test.v")
	cmd.Env = append(os.Environ(), "TOOLPROC_TEST_NAMESPACES=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "--- PASS")
}

// The error of New says which program is missing, and in which package it is.
func TestBoundaryMissing(t *testing.T) {
	programs(t, "bwrap", "nsenter")
	for _, missing := range []string{"bwrap", "nsenter", "unshare"} {
		t.Run(missing, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range []string{"bwrap", "nsenter", "unshare", "env", "sh"} {
				if path, err := exec.LookPath(name); err == nil && name != missing {
					require.NoError(t, os.Symlink(path, filepath.Join(dir, name)))
				}
			}
			t.Setenv("PATH", dir)
			_, err := sandbox.New(sandbox.Policy{Level: sandbox.Boundary})
			require.ErrorIs(t, err, errors.ErrUnsupported)
			require.ErrorContains(t, err, "no program "+missing)
			require.ErrorContains(t, err, "the package "+map[string]string{"bwrap": "bubblewrap", "nsenter": "util-linux", "unshare": "util-linux"}[missing])
		})
	}
}

// Nothing is left of a box when it is closed. Nothing is when its program is killed, either:
// the namespaces that its commands share are in no process, and open in this program alone.
func TestBoundaryEnds(t *testing.T) {
	before := ownSpaces(t)
	box := newBoundaryBox(t, sandbox.Policy{Network: sandbox.NoNetwork})
	l := newLocal(t, box)
	spaces := slices.DeleteFunc(ownSpaces(t), func(space string) bool { return slices.Contains(before, space) })
	require.Len(t, spaces, 3)
	require.Empty(t, processesIn(t, spaces))
	require.NoError(t, box.Close())
	require.Equal(t, before, ownSpaces(t))
	_, err := l.Start(t.Context(), procmgr.StartRequest{Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrClosed)
}

// ownSpaces returns the namespaces that this program has open, as /proc names them.
func ownSpaces(t testing.TB) (spaces []string) {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, f := range files {
		var fs unix.Statfs_t
		path := "/proc/self/fd/" + f.Name()
		if unix.Statfs(path, &fs) == nil && fs.Type == unix.NSFS_MAGIC {
			name, err := os.Readlink(path)
			require.NoError(t, err)
			spaces = append(spaces, name)
		}
	}
	return spaces
}

// processesIn returns the processes that are in one of some namespaces.
func processesIn(t testing.TB, spaces []string) (found []string) {
	t.Helper()
	for _, space := range spaces {
		kind, _, _ := strings.Cut(space, ":")
		links, err := filepath.Glob("/proc/[0-9]*/ns/" + kind)
		require.NoError(t, err)
		for _, link := range links {
			if its, err := os.Readlink(link); err == nil && its == space {
				found = append(found, link)
			}
		}
	}
	return found
}
