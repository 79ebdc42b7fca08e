package sandbox_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/sandbox"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// newAccidents returns a Local whose commands are in a box of Accidents.
func newAccidents(t testing.TB, p sandbox.Policy) *proclocal.Local {
	t.Helper()
	return newLocal(t, newBox(t, p))
}

// levels has what makes a Local whose commands are in a box of a level.
var levels = map[string]func(testing.TB, sandbox.Policy) *proclocal.Local{"Accidents": newAccidents, "Boundary": newBoundary}

// A Local with Accidents is a Host like another one.
func TestHeldAccidentsHost(t *testing.T) {
	held(t)
	box := newBox(t, sandbox.Policy{Write: []string{os.TempDir()}})
	proctest.TestHost(t, func(t *testing.T) procmgr.Host { return newLocal(t, box) })
}

// tools are what people let a model run, in a directory of their own. Each prints
// "worked" at its end.
var tools = []struct {
	name    string
	needs   []string
	prepare string // without a box
	command string
}{
	{"go test", []string{"go"}, "", `export HOME=$PWD GOCACHE=$CACHE GOFLAGS=-mod=mod GOTOOLCHAIN=local CGO_ENABLED=0
		printf 'module m\n\ngo 1.24\n' >go.mod
		printf 'package m\nimport ("os"; "testing")\nfunc TestM(t *testing.T) { if os.WriteFile(t.TempDir()+"/f", nil, 0o600) != nil { t.Fatal() } }\n' >m_test.go
		go test ./... && echo worked`},
	{"npm ci", []string{"npm"}, `mkdir dep && cd dep && echo '{"name":"dep","version":"1.0.0"}' >package.json && npm pack --silent --cache ../cache && cd .. &&
		echo '{"name":"m","version":"1.0.0","dependencies":{"dep":"file:dep/dep-1.0.0.tgz"}}' >package.json &&
		npm install --silent --no-audit --no-fund --cache "$PWD/cache" && rm -r node_modules`,
		`HOME=$PWD npm ci --offline --no-audit --no-fund --cache "$PWD/cache" && test -f node_modules/dep/package.json && echo worked`},
	{"git commit", []string{"git"}, "", `export HOME=$PWD GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
		git init -q . && echo a >a && git add a && git commit -qm a && git branch b && git gc -q && git fsck --no-progress && echo worked`},
	{"make -j", []string{"make", "cc"}, "", `printf 'all: a b c d\n\techo worked\na b c d:\n\techo "int main(void) { return 0; }" >$@.c && cc -o $@ $@.c && ./$@\n' >Makefile && make -s -j4`},
	{"venv", []string{"python3"}, "", `HOME=$PWD python3 -m venv --without-pip v && v/bin/python -c 'import multiprocessing; multiprocessing.Lock(); print("worked")'`},
	{"script", []string{"script"}, "", `script -qec 'test -t 0 && echo worked' /dev/null`},
	{"python, pool", []string{"python3"}, "", `printf 'import multiprocessing as m, sys\nif __name__ == "__main__":\n m.set_start_method(sys.argv[1])\n with m.Pool(2) as p: print(p.map(abs, [-1, 2]))\n' >pool.py
		python3 pool.py fork && python3 pool.py spawn && echo worked`},
	{"node, cluster", []string{"node"}, "", `echo 'const c = require("cluster"), h = require("child_process"); if (c.isPrimary) c.fork().on("online", () => h.exec("true", e => { console.log(e || "worked"); process.exit() })); else setInterval(() => {}, 1000)' >c.js
		node c.js`},
	{"names of interfaces", []string{"node"}, "", `node -e 'require("os").networkInterfaces(); console.log("worked")'`},
}

// The usual tools work below Write, without a network, in each level.
func TestTools(t *testing.T) {
	for level, newBoxed := range levels {
		for _, tool := range tools {
			t.Run(level+"/"+tool.name, func(t *testing.T) {
				programs(t, tool.needs...)
				dir := visibleDir(t)
				if tool.prepare != "" {
					cmd := exec.CommandContext(t.Context(), "sh", "-c", tool.prepare)
					cmd.Dir = dir
					out, err := cmd.CombinedOutput()
					require.NoError(t, err, string(out))
				}
				write, env := []string{dir}, map[string]string(nil)
				if tool.name == "go test" { // it would build the standard library
					cache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
					require.NoError(t, err)
					env = map[string]string{"CACHE": strings.TrimSpace(string(cache))}
					write = append(write, env["CACHE"])
				}
				l := newBoxed(t, sandbox.Policy{Write: write, Network: sandbox.NoNetwork})
				out, err := l.Start(t.Context(), procmgr.StartRequest{Command: tool.command, WorkDir: dir, Env: env, Wait: long})
				require.NoError(t, err)
				require.Contains(t, out.Text, "worked")
				require.NotNil(t, out.Process.ExitCode)
				require.Zero(t, *out.Process.ExitCode, out.Text)
			})
		}
	}
}

// socketTools take Unix sockets. Each prints "worked" at its end if it has some.
var socketTools = []struct {
	name, program string
	command       string
	notHere       bool // it takes something else too, so only its failure is looked at
}{
	{"tmux", "tmux", `tmux -S "$TMPDIR/tmux" new -d 'sleep 100' && tmux -S "$TMPDIR/tmux" kill-server && echo worked`, false},
	{"ssh-agent", "ssh-agent", `ssh-agent sh -c 'ssh-add -l; test $? = 1 && echo worked'`, false},
	{"git commit -S", "gpg", `export GNUPGHOME=$TMPDIR/gnupg GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
		mkdir -m 700 "$GNUPGHOME"; gpg -q --batch --passphrase '' --quick-gen-key 'a <a@b>'; git init -q r && cd r && git commit -q -S --allow-empty -m a && echo worked; s=$?; gpgconf --kill all; exit $s`, false},
	{"multiprocessing.Manager", "python3", `"$PYTHON" -c 'import multiprocessing as m; print(m.Manager().list([1])); print("worked")'`, false},
	{"forkserver", "python3", `printf 'import multiprocessing as m\nif __name__ == "__main__":\n m.set_start_method("forkserver")\n p = m.Process(target=print, args=("worked",))\n p.start()\n p.join()\n' >f.py; "$PYTHON" f.py`, false},
	{"node, a socket with a path", "node", `node -e 'require("net").createServer().listen(process.env.TMPDIR + "/s", function () { console.log("worked"); this.close() })'`, false},
	{"docker", "docker", `docker ps`, true},
	{"chromium", "chromium", `chromium --headless --no-sandbox --disable-gpu --user-data-dir="$TMPDIR/c" --dump-dom about:blank`, true},
}

// A tool that takes a Unix socket fails with Boundary, the model is told why, and it works
// with UnixSockets.
func TestBoundarySocketTools(t *testing.T) {
	for _, tool := range socketTools {
		t.Run(tool.name, func(t *testing.T) {
			programs(t, tool.program)
			dir := visibleDir(t)
			python, err := exec.CommandContext(t.Context(), "python3", "-c", "import sys; print(sys.executable); print(sys.base_prefix)").Output()
			require.NoError(t, err)
			executable, prefix, _ := strings.Cut(strings.TrimSpace(string(python)), "\n")
			t.Setenv("PYTHON", executable)
			call := func(p sandbox.Policy) toolset.Result {
				p.Write = []string{dir}
				arguments, err := json.Marshal(map[string]any{"command": tool.command, "workdir": dir, "timeout": "1m"})
				require.NoError(t, err)
				box := newBoundaryBox(t, p)
				set, err := toolset.New(toolset.Static(newLocal(t, box).Chat("a")), &toolset.Options{Advise: sandbox.Advise(box.Rules())})
				require.NoError(t, err)
				return set.Call(t.Context(), toolset.Call{Name: "execute", Arguments: arguments})
			}
			result := call(sandbox.Policy{})
			require.False(t, result.Report.Success, result.Content)
			require.Contains(t, result.Content, "commands have no Unix sockets")
			if !tool.notHere {
				require.Contains(t, call(sandbox.Policy{UnixSockets: true, Read: []string{prefix}}).Content, "worked")
			}
		})
	}
}

// What each level costs: a command in a box beside a plain one.
func BenchmarkLevel(b *testing.B) {
	plain := newLocal(b, nil)
	for level, newBoxed := range levels {
		b.Run(level, func(b *testing.B) {
			boxed := newBoxed(b, sandbox.Policy{Write: []string{visibleDir(b)}, Network: sandbox.NoNetwork})
			compare(b, func() { succeeds(b, boxed, "true") }, func() { succeeds(b, plain, "true") })
		})
	}
}
