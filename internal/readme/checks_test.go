//go:build unix

package readme_test

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/headtail/plaintext"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// checks has what is done with a block that has a text, in pages whose names begin so. The
// first check that fits counts.
var checks = []struct {
	page, has string
	run       func(t *testing.T, b block)
}{
	{"", "$ go get ", goGet},
	{"README.md", "go run ./examples/quickstart", stepsOfCI},
	{"README.md", "model   [...]", quickstartTranscript},
	{"docs/benchmarks.md", "go test -run", benchmarks},
	{"docs/durable.md", "go run ./durable", durableCommands},
	{"docs/notifications.md", "runs already", keptTranscript},
	{"docs/output.md", "=== RUN", longOutput},
	{"docs/output.md", "of these, by line", highlights},
	{"docs/protocol.md", "HTTP/1.1", exchange},
	{"docs/remote.md", "generate_cert.go", serving},
	{"docs/remote.md", "upstream toolproc", nginx},
	{"docs/remote.md", "$ toolprocd ps", person},
	{"docs/view.md", "curl", func(t *testing.T, _ block) { elsewhere(t, "contrib/procview/view_test.go", "view.md") }},
	{"docs/", "systemd-run", systemdRun},
	{"docs/", "[Service]", unit},
	{"docs/", "→ ", func(*testing.T, block) {}}, // the tests of toolset and examples write these transcripts
	{"docs/", "|", drawing},
	{"contrib/acp/", "", servers},
	{"contrib/examples/", "go run", exampleCommands},
	{"contrib/mcp/", "", servers},
	{"contrib/procnats/", "accounts {", func(t *testing.T, _ block) { elsewhere(t, "contrib/procnats/servertest/fleet_test.go", "```conf") }},
	{"contrib/procnats/", "NATS server -- stream", drawing},
}

// commands returns the lines that a reader types, which stand behind "$ ".
func commands(t *testing.T, b block) (all []string) {
	t.Helper()
	for _, match := range regexp.MustCompile(`(?m)^\$ (.*)$`).FindAllStringSubmatch(b.text, -1) {
		all = append(all, match[1])
	}
	require.NotEmpty(t, all)
	return all
}

// elsewhere checks that the test of another module reads a block.
func elsewhere(t *testing.T, file, has string) { require.Contains(t, read(t, file), has) }

// goGet names the module of the page's directory.
func goGet(t *testing.T, b block) {
	dir := path.Dir(b.page)
	module := path.Join("github.com/toolproc/toolproc", dir)
	require.Equal(t, []string{"go get " + module}, commands(t, b))
	require.Contains(t, read(t, path.Join(dir, "go.mod")), "module "+module+"\n")
}

// stepsOfCI looks for commands that take long in .ci/run.
func stepsOfCI(t *testing.T, b block) {
	for _, command := range commands(t, b) {
		command, _, _ = strings.Cut(command, " #")
		require.Contains(t, read(t, ".ci/run"), strings.TrimSpace(command), "no step of .ci/run runs it")
	}
}

// benchmarks looks for the benchmarks and packages that commands name. They take too long
// to run here; step bench of .ci/run runs all of them.
func benchmarks(t *testing.T, b block) {
	for _, command := range commands(t, b) {
		words := strings.Fields(command)
		require.Equal(t, []string{"go", "test", "-run", "'^$'", "-bench"}, words[:5])
		declares := regexp.MustCompile(`(?m)^func Benchmark\w*` + words[5])
		found := false
		walk(t, ".go", func(name, text string) {
			found = found || declares.MatchString(text) && slices.ContainsFunc(words, func(word string) bool {
				dir, below := strings.CutSuffix(word, "/...")
				return dir == "./"+path.Dir(name) || below && strings.HasPrefix("./"+name, dir+"/")
			})
		})
		require.True(t, found, "%s runs no benchmark", command)
	}
}

// durableCommands checks that the program itself names the commands.
func durableCommands(t *testing.T, b block) {
	for _, command := range commands(t, b) {
		words := strings.Fields(command)
		require.Equal(t, []string{"go", "run", "./durable"}, words[:3])
		elsewhere(t, "contrib/examples/durable/main.go", "//\tdurable "+words[3]+" SOCKET")
	}
}

// exampleCommands set a variable that the test of the program sets too, and run the program.
func exampleCommands(t *testing.T, b block) {
	match := regexp.MustCompile(`^\$ export (\w+)=\.\.\.\n\$ go run \./(\w+) "[^"]+"\n$`).FindStringSubmatch(b.text)
	require.NotNil(t, match, b.text)
	elsewhere(t, "contrib/examples/provider_test.go", `"`+match[1]+`"`)
	elsewhere(t, "contrib/examples/"+match[2]+"/main.go", "package main\n")
}

// A drawing of states or stages has nothing to run. Its states must exist in package
// procmgr.
func drawing(t *testing.T, b block) {
	require.Regexp(t, `(?m)^\s*[|v]`, b.text)
	for _, boxed := range regexp.MustCompile(`\| (\w+) +\|`).FindAllStringSubmatch(b.text, -1) {
		require.Contains(t, []string{"running", "detached", "exited", "tombstone"}, boxed[1])
	}
}

// keptTranscript compares a block with what a test of examples/agent has made. IDs differ.
func keptTranscript(t *testing.T, b block) {
	elsewhere(t, "examples/agent/testdata/keep.txt", strings.ReplaceAll(b.text, "nkyft2dmrn", "npc5orns6a"))
}

// quickstartTranscript compares an excerpt with the transcript that quickstart's own test
// keeps. "[...]" stands for the parts that the excerpt leaves out.
func quickstartTranscript(t *testing.T, b block) {
	plain := func(text string) string {
		text = regexp.MustCompile(`<process \d+>|npc5orns6a`).ReplaceAllString(text, "ID")
		return words(regexp.MustCompile(` · \d+s`).ReplaceAllString(text, " · <...>"))
	}
	rest := plain(read(t, "examples/quickstart/testdata/transcript.txt"))
	for _, part := range strings.Split(plain(b.text), "[...]") {
		_, after, found := strings.Cut(rest, strings.TrimSpace(part))
		require.True(t, found, "quickstart does not print %q, or not there", part)
		rest = after
	}
}

// recorded returns what a command of the corpus printed.
func recorded(t *testing.T, name string) []byte {
	t.Helper()
	packed, err := gzip.NewReader(strings.NewReader(read(t, "chattool/toolset/testdata/corpus/"+name+".raw.gz")))
	require.NoError(t, err)
	raw, err := io.ReadAll(packed)
	require.NoError(t, err)
	return raw
}

// longOutput compares an excerpt of a long output with that output, which is in the corpus.
func longOutput(t *testing.T, b block) {
	buffer := headtail.New(headtail.DefaultHead, headtail.DefaultTail)
	w := plaintext.NewWriter(buffer)
	_, err := w.Write(recorded(t, "go-test"))
	require.NoError(t, err)
	require.NoError(t, w.Flush())
	require.NoError(t, buffer.Close())
	text, _ := buffer.Snapshot(0).Text(headtail.Limits{})
	require.Contains(t, text, b.text)
}

// highlights looks for the lines of a block in a recording, by their numbers. Its first line
// is one that toolset.TestCorpus wants to be shown.
func highlights(t *testing.T, b block) {
	printed := strings.Split(string(recorded(t, "make")), "\n")
	shown := regexp.MustCompile(`(?m)^(\d+): (.*)$`).FindAllStringSubmatch(b.text, -1)
	require.NotEmpty(t, shown)
	elsewhere(t, "chattool/toolset/testdata/corpus/make.want", shown[0][2])
	for _, line := range shown {
		number, err := strconv.Atoi(line[1])
		require.NoError(t, err)
		require.Equal(t, printed[number-1], line[2])
	}
}

// exchange checks the place of a block: TestProtocol of package prochttp replays each named
// request and the answer behind it.
func exchange(t *testing.T, b block) {
	above := strings.Split(read(t, b.page), "\n")[:b.line-2]
	last := above[len(above)-1]
	isRequest := strings.HasPrefix(last, "<!-- replay: ")
	isAnswer := last == "" && above[len(above)-2] == "```"
	require.True(t, isRequest || isAnswer, "it is neither a request with a name nor the answer to one")
	require.Equal(t, isAnswer, strings.HasPrefix(b.text, "HTTP/1.1 "))
}

// unit reads the lines of a systemd unit, and lets systemd read them if it is there.
func unit(t *testing.T, b block) {
	require.Regexp(t, `\A\[[A-Z][a-z]+\]\n([A-Z][A-Za-z]+=\S.*\n)+\z`, b.text)
	name := filepath.Join(t.TempDir(), "agent.service")
	require.NoError(t, os.WriteFile(name, []byte("[Unit]\nDescription=An agent\n"+b.text+"ExecStart=/bin/true\n"), 0o600))
	out, _ := exec.CommandContext(t.Context(), "systemd-analyze", "verify", name).CombinedOutput() // of other units it says much
	require.NotContains(t, string(out), name)
}

// systemdRun lets a shell read a command that needs a user's systemd to run.
func systemdRun(t *testing.T, b block) {
	require.Equal(t, "sh", b.language)
	shell(t, ".", "sh -n -c '"+b.text+"'")
	help, err := exec.CommandContext(t.Context(), "systemd-run", "--help").Output()
	for _, option := range regexp.MustCompile(` (--?\w+)`).FindAllStringSubmatch(b.text, -1) {
		require.True(t, err != nil || strings.Contains(string(help), " "+option[1]), option[1])
	}
}

// makeKeys runs the page's commands for keys, in a directory that it returns. The
// certificate is for this machine too.
func makeKeys(t *testing.T) (dir string) {
	t.Helper()
	typed := regexp.MustCompile(`(?m)^\$ (mkdir keys)\n\$ (.*)build\.example(.*)\n\$ (.*)$`).FindStringSubmatch(read(t, "docs/remote.md"))
	require.NotNil(t, typed)
	dir = t.TempDir()
	shell(t, ".", "cd '"+dir+"' && "+typed[1]+" && "+typed[2]+"build.example,127.0.0.1"+typed[3]+" && "+typed[4])
	for _, name := range []string{"token", "key.pem"} {
		info, err := os.Stat(dir + "/keys/" + name)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode())
	}
	return dir
}

// serving runs the commands for keys and for a server, and the page's client.
func serving(t *testing.T, b block) {
	dir, address := makeKeys(t), freeAddress(t)
	shell(t, ".", "go build -o '"+scratch+"' ./cmd/toolprocd")
	command := strings.NewReplacer("go run ./cmd/toolprocd", "'"+scratch+"/toolprocd'", ":8443", address).Replace(commands(t, b)[3])
	server := start(t, dir, command)
	awaitListener(t, address)
	t.Chdir(dir)
	require.NoError(t, connect(t.Context(), "https://"+address))
	server.stop(t, syscall.SIGINT)
}

// nginx starts nginx with the page's configuration before the page's server.
func nginx(t *testing.T, b block) {
	testenv.Programs(t, "nginx")
	dir := makeKeys(t)
	upstream, stop := startServing(t, "correct-horse")
	listen := freeAddress(t)
	config := "daemon off; master_process off; error_log stderr; pid nginx.pid;\nevents {}\nhttp {\naccess_log off;\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		config += kind + "_temp_path " + kind + ";\n"
	}
	config += strings.NewReplacer("127.0.0.1:8080", upstream, "listen 443 ssl", "listen "+listen+" ssl",
		"/etc/ssl/build.example.pem", dir+"/keys/cert.pem", "/etc/ssl/build.example.key", dir+"/keys/key.pem").Replace(b.text) + "}\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nginx.conf"), []byte(config), 0o600))
	proxy := start(t, dir, "nginx -p . -c nginx.conf")
	awaitListener(t, listen)

	cert, err := os.ReadFile(dir + "/keys/cert.pem")
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(cert))
	client, err := prochttp.NewClient("https://build.example", &prochttp.ClientOptions{Token: "correct-horse", Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, listen)
		},
	}})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	stop(client)
	proxy.stop(t, syscall.SIGTERM)
}

// person types the commands of the page at a machine where a client runs a server. Here,
// npm and make are scripts.
func person(t *testing.T, b block) {
	dir := shortDir(t)
	t.Setenv("PATH", dir+":"+scratch+":"+os.Getenv("PATH"))
	t.Setenv("XDG_STATE_HOME", dir)
	shell(t, ".", "go build -o '"+scratch+"' ./cmd/toolprocd")
	defer shell(t, ".", "toolprocd stop -f")
	require.NoError(t, os.WriteFile(dir+"/npm", []byte("#!/bin/sh\nexec sleep 1000\n"), 0o700))
	require.NoError(t, os.WriteFile(dir+"/make", []byte("#!/bin/sh\necho made \"$@\"\n"), 0o700))
	client, err := prochttp.NewClient("http://localhost", &prochttp.ClientOptions{Dial: prochttp.Command("toolprocd", "stdio")})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	_, err = client.Chat("chat-42").Start(t.Context(), procmgr.StartRequest{ID: "npc5orns6a", Command: "npm run dev"})
	require.NoError(t, err)

	masked := regexp.MustCompile(`\b\d+ +(\d+[hms])+ `)
	said := ""
	for line := range strings.Lines(b.text) {
		command, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case !isCommand: // what the command before it prints
			require.Contains(t, words(said), words(masked.ReplaceAllString(line, "")))
		case strings.Contains(command, "logs -f"): // it ends with the process
			require.Empty(t, shell(t, ".", "timeout 1 "+strings.TrimSpace(command)+" 2>/dev/null || true"))
		default:
			said = masked.ReplaceAllString(shell(t, ".", command), "")
		}
	}
	require.Equal(t, "made test\n", shell(t, ".", "toolprocd logs -f "+said))
	out, err := client.Chat("chat-42").Output(t.Context(), "npc5orns6a", procmgr.OutputRequest{Wait: long})
	require.NoError(t, err)
	require.Equal(t, "SIGTERM", out.Process.Signal)
}

// servers starts what MCP's and ACP's clients are told to start, and ends it by the end of
// its stdin; the tests of its module talk to it. The clients do not run here: their lines
// were tried by hand, in the versions that the page names.
func servers(t *testing.T, b block) {
	dir := path.Dir(b.page)
	name := "toolproc-" + path.Base(dir)
	program := filepath.Join(scratch, name)
	build := []string{"test -e '" + program + "' || (true"}
	for _, command := range regexp.MustCompile(`(?m)^\$ (cd|go build) .*$`).FindAllString(read(t, b.page), -1) {
		build = append(build, strings.Replace(command[2:], "-o "+name, "-o '"+program+"'", 1))
	}
	shell(t, ".", strings.Join(build, " && ")+")")
	require.FileExists(t, program)
	placed := strings.NewReplacer("/path/to/"+name, program, "./"+name, program, "/path/to/project", t.TempDir(), ":8080", ":0")

	if b.language == "console" {
		for _, command := range commands(t, b) {
			if _, server, found := strings.Cut(command, " -- "); found {
				shell(t, ".", placed.Replace(server)+" </dev/null")
			} else if strings.Contains(command, "-http") {
				printed := `\Amcp: Authorization: Bearer (\w+)\nmcp: listening on (http://127\.0\.0\.1:\d+/mcp)\n\z`
				_, shown, _ := strings.Cut(b.text, "\n")
				require.Regexp(t, printed, shown)
				server := start(t, ".", placed.Replace(command))
				server.out.await(t, "/mcp\n")
				require.Regexp(t, printed, server.out.String())
				server.stop(t, syscall.SIGTERM)
			} else {
				require.Regexp(t, `^(cd|go build|claude mcp list)`, command)
			}
		}
		return
	}
	type server struct {
		Command string
		Args    []string
		Env     map[string]string
	}
	var file struct {
		MCP map[string]server `json:"mcpServers"`
		ACP map[string]server `json:"agent_servers"`
	}
	require.NoError(t, json.Unmarshal([]byte(b.text), &file))
	for _, s := range []server{file.MCP["toolproc"], file.ACP["toolproc"]} {
		for variable, value := range s.Env {
			elsewhere(t, dir+"/main.go", `os.Getenv("`+variable+`")`)
			t.Setenv(variable, value)
		}
		if s.Command != "" {
			shell(t, ".", placed.Replace(s.Command+" "+strings.Join(s.Args, " "))+" </dev/null")
		}
	}
}

// The comparison says how many modules a program with the tools has beside its own.
func TestComparedModules(t *testing.T) {
	modules := shell(t, ".", `go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}' ./procmgr/proclocal ./chattool/toolset | sort -u | wc -l`)
	said := regexp.MustCompile(`\| (\d+) modules; a program of|\| (\d+); \d+\.\d MB \|\n`).FindAllStringSubmatch(read(t, "docs/compare.md"), -1)
	require.Len(t, said, 2)
	for _, match := range said {
		require.Equal(t, strings.TrimSpace(modules), match[1]+match[2])
	}
}
