//go:build unix

package readme_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/headtail/plaintext"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/prockeep"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

const (
	serverBlock    = "server.ListenAndServe()"
	authorizeBlock = "func authorize("
	cgroupBlock    = "/proc/self/cgroup"
	choomBlock     = `"choom"`
	sandboxBlock   = `"bwrap"`
	keeperBlock    = "prockeep.Main()"
	ctrlCBlock     = "signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)"
)

var docsRules = []rule{
	{page: "docs/benchmarks.md", language: "console", has: "go test -run", run: benchmarks},
	{page: "docs/keeper.md", language: "ini", has: "Type=oneshot", run: unit},
	{
		page: "docs/keeper.md", language: "go", has: keeperBlock, run: keeper, program: "BLOCK\n",
		instead: map[string]string{`"/var/lib/agent/keeper"`: `os.Getenv("KEEPER")`, "./server": "sleep 1000"},
	},
	{page: "docs/input.md", language: "text", has: "→ process_input", run: transcript},
	{page: "docs/output.md", has: "plain text   ", run: drawing},
	{page: "docs/output.md", has: "=== RUN", run: longOutput},
	{page: "docs/output.md", has: "of these, by line", run: highlights},
	{page: "docs/internals.md", has: "chattool/toolset  ", run: drawing},
	{page: "docs/internals.md", has: "write(2)", run: drawing},
	{page: "docs/processes.md", has: "tombstone", run: drawing},
	{page: "docs/processes.md", language: "ini", has: "Delegate=yes", run: unit},
	{page: "docs/processes.md", language: "sh", has: "systemd-run", run: systemdRun},
	{
		page: "docs/processes.md", language: "go", has: cgroupBlock, run: cgroup,
		program: `func main() {
	var opts proclocal.Options
BLOCK
	fmt.Println(opts.Cgroup)
}`,
	},
	{
		page: "docs/processes.md", language: "go", has: ctrlCBlock, run: ctrlC,
		program: `func main() {
BLOCK
	fmt.Println("ready")
	<-ctx.Done()
	fmt.Println("end")
}`,
	},
	{page: "docs/processes.md", language: "go", has: choomBlock, run: choom, program: runInShell},
	{
		page: "docs/processes.md", language: "go", has: sandboxBlock, run: sandbox, program: runInShell,
		instead: map[string]string{`"/srv/project"`: `os.Getenv("PROJECT")`},
	},
	{page: "docs/protocol.md", language: "http", has: "HTTP/1.1", many: true, run: exchange},
	{page: "docs/protocol.md", has: "| running |", run: drawing},
	{
		page: "docs/remote.md", language: "go", has: serverBlock, run: server,
		instead: map[string]string{`"127.0.0.1:8080"`: `os.Getenv("ADDRESS")`},
		program: `func main() {
	token := os.Getenv("TOKEN")
	local, err := proclocal.New(nil)
	if err != nil {
		log.Fatal(err)
	}
BLOCK
	if err != nil {
		log.Fatal(err)
	}
}`,
	},
	{page: "docs/remote.md", language: "nginx", has: "upstream toolproc", run: nginx},
	{page: "docs/security.md", language: "go", has: "sandbox.New(", run: inExamples("contrib/sandbox/example_linux_test.go"), elsewhere: true},
	{page: "contrib/sandbox/README.md", language: "console", has: "contrib/sandbox", run: goGet},
	{page: "contrib/sandbox/README.md", language: "go", has: "box, err := sandbox.New(", run: inExamples("contrib/sandbox/example_linux_test.go"), elsewhere: true},
	{page: "docs/security.md", language: "go", has: "func approve(", run: inExamples("contrib/shellfacts/example_approve_test.go"), elsewhere: true},
	{
		page: "docs/security.md", language: "go", has: authorizeBlock, run: authorize,
		program: `BLOCK
func main() {
	users = map[[sha256.Size]byte]string{sha256.Sum256([]byte("hers")): "alice"}
	local, err := proclocal.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer local.Close()
	handler, err := prochttp.NewHandler(local, &prochttp.HandlerOptions{Authorize: authorize})
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	for _, caller := range [][2]string{{"hers", "alice/1"}, {"hers", "bob/1"}, {"hers", "alice"}, {"hers", ""}, {"none", "alice/1"}} {
		client, err := prochttp.NewClient(server.URL, &prochttp.ClientOptions{Token: caller[0]})
		if err != nil {
			log.Fatal(err)
		}
		manager := procmgr.Manager(client)
		if caller[1] != "" {
			manager = client.Chat(caller[1])
		}
		_, err = manager.List(context.Background(), procmgr.ListRequest{})
		fmt.Printf("%s %q: %v\n", caller[0], caller[1], err)
		client.Close()
	}
}`,
	},
}

// runInShell runs a command with the manager that a block creates.
const runInShell = `func main() {
	manager, err :=
BLOCK
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Close()
	out, err := manager.Start(context.Background(), procmgr.StartRequest{Command: os.Getenv("COMMAND"), Wait: time.Minute})
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Print(out.Text)
}`

// A drawing of states or stages has nothing to run. Its states must exist in package
// procmgr.
func drawing(t *testing.T, _ *pages, b block) {
	require.Regexp(t, `(?m)^\s*[|v]`, b.text)
	for _, boxed := range regexp.MustCompile(`\| (\w+) +\|`).FindAllStringSubmatch(b.text, -1) {
		require.Contains(t, []string{"running", "detached", "exited", "tombstone"}, boxed[1])
	}
}

// transcript is a block that the test of another package makes.
func transcript(t *testing.T, _ *pages, b block) { require.Contains(t, b.text, "→ ") }

// benchmarks looks for the benchmarks and packages that commands name. They
// take too long to run here; step bench of .ci/run runs all of them.
func benchmarks(t *testing.T, _ *pages, b block) {
	for _, command := range commands(t, b) {
		words := strings.Fields(command)
		require.Equal(t, []string{"go", "test"}, words[:2])
		pattern := ""
		found := 0
		for i, word := range words {
			if word == "-bench" {
				pattern = words[i+1]
			}
			dir, isPath := strings.CutPrefix(word, "./")
			if !isPath {
				continue
			}
			dir, below := strings.CutSuffix(dir, "/...")
			files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
			require.NoError(t, err)
			if below {
				deeper, err := filepath.Glob(filepath.Join(root, dir, "*", "*_test.go"))
				require.NoError(t, err)
				files = append(files, deeper...)
			}
			for _, name := range files {
				content, err := os.ReadFile(name)
				require.NoError(t, err)
				found += len(regexp.MustCompile(`(?m)^func Benchmark\w*`+pattern).FindAll(content, -1))
			}
		}
		require.NotZero(t, found, "%s runs no benchmark", command)
	}
}

// longOutput compares an excerpt of a long output with that output, which is in
// the corpus.
func longOutput(t *testing.T, _ *pages, b block) {
	raw, err := gzip.NewReader(strings.NewReader(read(t, "chattool/toolset/testdata/corpus/go-test.raw.gz")))
	require.NoError(t, err)
	buffer := headtail.New(headtail.DefaultHead, headtail.DefaultTail)
	w := plaintext.NewWriter(buffer)
	_, err = io.Copy(w, raw)
	require.NoError(t, err)
	require.NoError(t, w.Flush())
	require.NoError(t, buffer.Close())
	text, _ := buffer.Snapshot(0).Text(headtail.Limits{})
	require.Contains(t, text, b.text)
}

// highlights compares the lines of a block with the highlights that a Local finds in a
// recording.
func highlights(t *testing.T, _ *pages, b block) {
	recording, err := filepath.Abs("../../chattool/toolset/testdata/corpus/make.raw.gz")
	require.NoError(t, err)
	local, err := proclocal.New(&proclocal.Options{LogDir: filepath.Join(t.TempDir(), "logs")})
	require.NoError(t, err)
	defer func() { require.NoError(t, local.Close()) }()
	out, err := local.Start(t.Context(), procmgr.StartRequest{Command: "gzip -dc '" + recording + "'", Wait: time.Minute})
	require.NoError(t, err)
	out, err = local.Output(t.Context(), out.Process.ID, procmgr.OutputRequest{Highlight: 1 << 10})
	require.NoError(t, err)
	for range 20 {
		counted := !slices.ContainsFunc(out.Highlights, func(h procmgr.Highlight) bool { return h.Line == 0 })
		if counted {
			break
		}
		out, err = local.Output(t.Context(), out.Process.ID, procmgr.OutputRequest{Highlight: 1 << 10}) // a busy machine has too little time
		require.NoError(t, err)
	}
	var found []string
	for _, h := range out.Highlights {
		for i, line := range strings.Split(h.Text, "\n") {
			found = append(found, fmt.Sprintf("%d: %s", h.Line+i, line))
		}
	}
	lines := strings.Split(strings.TrimSpace(b.text), "\n")
	for _, line := range lines[1 : len(lines)-1] {
		require.Contains(t, found, line)
	}
}

// unit reads the lines of a systemd unit, and lets systemd read them if it is
// there.
func unit(t *testing.T, _ *pages, b block) {
	require.Regexp(t, `\A\[[A-Z][a-z]+\]\n([A-Z][A-Za-z]+=\S.*\n)+\z`, b.text)
	verifier, err := exec.LookPath("systemd-analyze")
	if err != nil {
		return
	}
	name := filepath.Join(t.TempDir(), "agent.service")
	text := "[Unit]\nDescription=An agent\n" + b.text + "ExecStart=/bin/true\n"
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	out, _ := exec.CommandContext(t.Context(), verifier, "verify", name).CombinedOutput() // of other units it says much
	for _, complaint := range strings.SplitAfter(string(out), "\n") {
		require.NotContains(t, complaint, name, "%s", out)
	}
}

// systemdRun lets a shell read a command that needs a user's systemd to run.
func systemdRun(t *testing.T, _ *pages, b block) {
	out, err := exec.CommandContext(t.Context(), "sh", "-n", "-c", b.text).CombinedOutput()
	require.NoError(t, err, "%s", out)
	words := strings.Fields(b.text)
	require.Equal(t, "systemd-run", words[0])
	require.Equal(t, "./agent", words[len(words)-1])
	help, err := exec.CommandContext(t.Context(), words[0], "--help").Output()
	if errors.Is(err, exec.ErrNotFound) {
		return
	}
	require.NoError(t, err)
	for _, word := range words[1 : len(words)-1] {
		if strings.HasPrefix(word, "-") {
			require.Regexp(t, `(?m)^\s+(-\w )?`+word+`\b|^\s+`+word+` `, string(help))
		}
	}
}

// cgroup compares the directory that a block finds with the file that it reads.
func cgroup(t *testing.T, p *pages, _ block) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		testenv.Lacks(t, "linux", "there are no cgroups: %v", err)
	}
	found := regexp.MustCompile(`(?m)^0::(.*)$`).FindSubmatch(text)
	require.NotNil(t, found, "%s", text)
	program := start(t, t.TempDir(), nil, p.programs[cgroupBlock])
	require.Zero(t, program.end(t), &program.err)
	require.Equal(t, filepath.Join("/sys/fs/cgroup", string(found[1]))+"\n", program.out.String())
}

// ctrlC sends the signals that end the block's context.
func ctrlC(t *testing.T, p *pages, _ block) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		program := start(t, t.TempDir(), nil, p.programs[ctrlCBlock])
		awaitOutput(t, program, "ready\n")
		require.NoError(t, program.Process.Signal(sig))
		require.Zero(t, program.end(t))
		require.Equal(t, "ready\nend\n", program.out.String())
	}
}

// keeper runs the program three times: its command runs once, and is stopped.
func keeper(t *testing.T, p *pages, _ block) {
	dir, err := os.MkdirTemp("", "k") //nolint:usetesting // the name of t.TempDir is too long for a socket in it
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	says := func(want string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), p.programs[keeperBlock])
		cmd.Env = append(os.Environ(), "KEEPER="+dir)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, want, string(out))
	}
	says("started before: false, now it is running\n")
	says("started before: true, now it is running\n")
	k, err := prockeep.Find(t.Context(), dir)
	require.NoError(t, err)
	// The page says how to stop the server.
	require.NoError(t, k.Chat("chat-42").Signal(t.Context(), "web-1", procmgr.Terminate))
	_, err = k.Chat("chat-42").Output(t.Context(), "web-1", procmgr.OutputRequest{Wait: long})
	require.NoError(t, err)
	says("started before: true, now it is exited\n")
	require.NoError(t, k.Stop(t.Context()))
}

// choom runs a command with the niceness and the score that the block sets.
func choom(t *testing.T, p *pages, _ block) {
	testenv.Programs(t, "nice", "choom")
	program := start(t, t.TempDir(), []string{"COMMAND=nice; cat /proc/self/oom_score_adj"}, p.programs[choomBlock])
	require.Zero(t, program.end(t), &program.err)
	out, err := exec.CommandContext(t.Context(), "nice").Output()
	require.NoError(t, err)
	own, err := strconv.Atoi(strings.TrimSpace(string(out)))
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("%d\n500\n", min(own+10, 19)), program.out.String())
}

// sandbox runs a command that can write only in its project.
func sandbox(t *testing.T, p *pages, _ block) {
	if out, err := exec.CommandContext(t.Context(), "bwrap", "--ro-bind", "/", "/", "--unshare-pid", "true").CombinedOutput(); err != nil {
		testenv.Lacks(t, "bwrap", "it is not there, or may not make namespaces here: %v\n%s", err, out)
	}
	project := t.TempDir()
	env := []string{"PROJECT=" + project, "COMMAND=pwd; echo written > inside; echo no > /outside"}
	program := start(t, t.TempDir(), env, p.programs[sandboxBlock])
	require.Zero(t, program.end(t), &program.err)
	require.True(t, strings.HasPrefix(program.out.String(), project+"\n"), &program.out)
	require.Contains(t, program.out.String(), "Read-only file system")
	content, err := os.ReadFile(filepath.Join(project, "inside"))
	require.NoError(t, err)
	require.Equal(t, "written\n", string(content))
}

// exchange checks the place of a block: TestProtocol of package prochttp
// replays each named request and the answer behind it.
func exchange(t *testing.T, _ *pages, b block) {
	above := strings.Split(read(t, b.page), "\n")[:b.line-2]
	last := above[len(above)-1]
	isRequest := strings.HasPrefix(last, "<!-- replay: ")
	isAnswer := last == "" && above[len(above)-2] == "```"
	require.True(t, isRequest || isAnswer, "it is neither a request with a name nor the answer to one")
	require.Equal(t, isAnswer, strings.HasPrefix(b.text, "HTTP/1.1 "))
}

// server starts the server, uses it, and ends it.
func server(t *testing.T, p *pages, _ block) {
	t.Setenv("TOKEN", "correct-horse")
	program, address := serve(t, t.TempDir(), p.programs[serverBlock])
	client, err := prochttp.NewClient("http://"+address, &prochttp.ClientOptions{Token: "correct-horse"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	endServer(t, program, client, syscall.SIGTERM)
}

// nginx starts nginx with the page's configuration before the page's server.
func nginx(t *testing.T, p *pages, b block) {
	testenv.Programs(t, "nginx")
	dir := makeKeys(t, p)
	t.Setenv("TOKEN", tokenIn(t, dir))
	upstream, address := serve(t, t.TempDir(), p.programs[serverBlock])
	listen := freeAddress(t)
	text := b.text
	for from, to := range map[string]string{
		"127.0.0.1:8080":             address,
		"listen 443 ssl":             "listen " + listen + " ssl",
		"/etc/ssl/build.example.pem": dir + "/keys/cert.pem",
		"/etc/ssl/build.example.key": dir + "/keys/key.pem",
	} {
		require.Equal(t, 1, strings.Count(text, from), "the page has no %q", from)
		text = strings.ReplaceAll(text, from, to)
	}
	config := "daemon off; master_process off; error_log stderr; pid nginx.pid;\nevents {}\nhttp {\naccess_log off;\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		config += kind + "_temp_path " + kind + ";\n"
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(config+text+"}\n"), 0o600))
	proxy := start(t, dir, nil, "nginx", "-p", dir, "-c", "nginx.conf")
	awaitListener(t, proxy, listen)

	client, err := prochttp.NewClient("https://build.example", &prochttp.ClientOptions{
		Token: tokenIn(t, dir), Transport: known(t, dir, listen),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	endServer(t, upstream, client, syscall.SIGTERM)
	require.NoError(t, proxy.Process.Signal(syscall.SIGTERM))
	require.Zero(t, proxy.end(t), &proxy.err)
}

// authorize lets callers try to act for chats.
func authorize(t *testing.T, p *pages, _ block) {
	program := start(t, t.TempDir(), nil, p.programs[authorizeBlock])
	require.Zero(t, program.end(t), &program.err)
	var said bytes.Buffer
	for line := range strings.Lines(program.out.String()) {
		caller, answer, _ := strings.Cut(line, ": ")
		verdict := "refused"
		if answer == "<nil>\n" {
			verdict = "allowed"
		}
		said.WriteString(caller + " " + verdict + "\n")
	}
	require.Equal(t, `hers "alice/1" allowed
hers "bob/1" refused
hers "alice" refused
hers "" refused
none "alice/1" refused
`, said.String(), &program.out)
}
