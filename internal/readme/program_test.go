//go:build unix

package readme_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// long is a wait that a test reaches only if something is wrong.
const long = time.Minute

// imports are the packages that a fragment may use without importing them.
var imports = map[string]string{
	"context": "context", "errors": "errors", "fmt": "fmt", "http": "net/http", "httptest": "net/http/httptest",
	"json": "encoding/json", "log": "log", "os": "os", "x509": "crypto/x509", "tls": "crypto/tls", "filepath": "path/filepath", "sha256": "crypto/sha256", "signal": "os/signal",
	"slices": "slices", "strings": "strings", "synctest": "testing/synctest", "syscall": "syscall", "testing": "testing", "time": "time",
	"filetool": library + "/chattool/filetool", "procmgr": library + "/procmgr", "proclocal": library + "/procmgr/proclocal", "procroute": library + "/procmgr/procroute",
	"prochttp": library + "/procmgr/prochttp", "proctest": library + "/procmgr/proctest", "prockeep": library + "/procmgr/prockeep",
	"toolset": library + "/chattool/toolset", "envpolicy": library + "/envpolicy", "procview": library + "/contrib/procview", "xerrors": "golang.org/x/xerrors",
}

// compile makes packages of all Go blocks, and one program of them: to link a
// program takes longer than to compile a block. The name by which that program is
// called says which block it runs.
func (p *pages) compile(t *testing.T, all []block, of map[block]rule) {
	t.Helper()
	module := newUserModule(t)
	var imported, cases strings.Builder
	for _, b := range all {
		r := of[b]
		if b.language != "go" || r.elsewhere {
			continue
		}
		variants := map[string]map[string]string{r.has: nil}
		maps.Copy(variants, r.variants)
		for _, variant := range slices.Sorted(maps.Keys(variants)) {
			changed := r
			changed.instead = maps.Clone(r.instead)
			if changed.instead == nil {
				changed.instead = make(map[string]string)
			}
			maps.Copy(changed.instead, variants[variant])
			source, err := complete(b, changed)
			require.NoError(t, err)
			name := fmt.Sprintf("block%d", len(p.programs))
			files := map[string]string{"main.go": source}
			maps.Copy(files, r.files)
			for file, content := range files {
				content = strings.Replace(content, "package main\n", "package "+name+"\n", 1)
				module.write(t, name+"/"+file, strings.Replace(content, "\nfunc main() {\n", "\nfunc Main() {\n", 1))
			}
			fmt.Fprintf(&imported, "import %q\n", "user.example/"+name)
			fmt.Fprintf(&cases, "case %q: %s.Main()\n", name, name)
			p.programs[variant] = filepath.Join(string(module), "bin", name)
		}
	}
	module.write(t, "main.go", "package main\nimport \"os\"\nimport \"path/filepath\"\n"+imported.String()+`
func main() {
	name, err := os.Executable()
	if err != nil {
		panic(err)
	}
	switch name = filepath.Base(name); name {
`+cases.String()+`default: panic(name)
	}
}
`)
	require.NoError(t, os.Mkdir(filepath.Join(string(module), "bin"), 0o755))
	module.run(t, "go", "build", "-ldflags=-s -w", "-o", "bin/all", ".")
	for _, name := range p.programs {
		require.NoError(t, os.Link(filepath.Join(string(module), "bin", "all"), name))
	}
}

// complete returns the program of a Go block:
//
//   - "// ..." stands for a look at err, as on every page.
//   - What rule.instead names is replaced. Each has to be there.
//   - A block that is no whole file stands in rule.program, and the packages
//     that it uses are imported.
//
// The compiler's errors name the page and its line.
func complete(b block, r rule) (string, error) {
	text := strings.ReplaceAll(b.text, "\n// ...\n", "\nif err != nil { log.Fatal(err) }\n")
	for _, from := range slices.Sorted(maps.Keys(r.instead)) {
		if !strings.Contains(text, from) {
			return "", fmt.Errorf("%s: the rule replaces %q, which is not there", b, from)
		}
		text = strings.ReplaceAll(text, from, r.instead[from])
	}
	from := fmt.Sprintf("//line %s:%d\n", b.page, b.line)
	if strings.HasPrefix(text, "package main\n") {
		if r.program != "" {
			return "", fmt.Errorf("%s: it is a whole program, and the rule has another one around it", b)
		}
		return from + text, nil
	}
	before, after, found := strings.Cut(r.program, "BLOCK\n")
	if !found {
		return "", fmt.Errorf("%s: it is no whole program, and the rule has none to put it into", b)
	}
	body := before + from + text + "//line rule.go:1\n" + after
	file, err := parser.ParseFile(token.NewFileSet(), "", "package main\n"+body, 0)
	if err != nil {
		return "", err
	}
	used := make(map[string]bool)
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && imports[x.Name] != "" && slices.Contains(file.Unresolved, x) {
				used[imports[x.Name]] = true
			}
		}
		return true
	})
	source := "package main\n"
	for _, path := range slices.Sorted(maps.Keys(used)) {
		source += fmt.Sprintf("import %q\n", path)
	}
	return source + body, nil
}

// A program is a running program. Its directory is also its home.
type program struct {
	*exec.Cmd
	dir      string
	out, err output
	ended    bool
}

// An output can be read while it is written.
type output struct {
	mu  sync.Mutex // guards all
	all bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.String()
}

// start starts a program in dir, with variables of its own. If the program
// still runs at the end of the test, it is killed.
func start(t *testing.T, dir string, env []string, name string, args ...string) *program {
	t.Helper()
	return startWith(t, dir, env, nil, name, args...)
}

// startWith is start with something on stdin.
func startWith(t *testing.T, dir string, env []string, stdin io.Reader, name string, args ...string) *program {
	t.Helper()
	p := &program{Cmd: exec.CommandContext(t.Context(), name, args...), dir: dir}
	p.Stdin = stdin
	p.Dir, p.WaitDelay = dir, long
	p.Env = append(os.Environ(), append([]string{"HOME=" + dir, "TMPDIR=" + dir}, env...)...)
	p.Stdout, p.Stderr = &p.out, &p.err
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		if !p.ended {
			_ = p.Process.Kill()
			_ = p.Wait()
		}
	})
	return p
}

// awaitOutput waits until a program has printed something.
func awaitOutput(t *testing.T, p *program, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(p.out.String()+p.err.String(), text) },
		long, 5*time.Millisecond, "it does not print %q", text)
}

// end waits for the program's end and returns its exit code. If a signal ended
// the program, end fails the test.
func (p *program) end(t *testing.T) int {
	t.Helper()
	timer := time.AfterFunc(long, func() { _ = p.Process.Kill() })
	defer timer.Stop()
	err := p.Wait()
	p.ended = true
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	requireNothingRuns(t, p.dir)
	status := p.ProcessState.Sys().(syscall.WaitStatus)
	require.False(t, status.Signaled(), "it was ended by %v, and so without its deferred calls\n%s%s", status.Signal(), &p.out, &p.err)
	return p.ProcessState.ExitCode()
}

// requireNothingRuns fails the test if a process runs whose TMPDIR is dir, and
// ends the process. It works only on Linux.
func requireNothingRuns(t *testing.T, dir string) {
	t.Helper()
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, name := range environs {
		environ, _ := os.ReadFile(name) // the process may have ended
		if !bytes.Contains(environ, []byte("TMPDIR="+dir+"\x00")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		require.NoError(t, err)
		_ = syscall.Kill(pid, syscall.SIGKILL)
		t.Errorf("process %d is left", pid)
	}
}

// A reporter is a FIFO to which a command writes its process ID.
type reporter struct{ *os.File }

func newReporter(t *testing.T, dir string) reporter {
	t.Helper()
	name := filepath.Join(dir, "pid")
	require.NoError(t, syscall.Mkfifo(name, 0o600))
	f, err := os.OpenFile(name, os.O_RDWR, 0) // for reading and writing, so that the open does not wait
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return reporter{f}
}

// command returns a command that writes its ID and runs on.
func (r reporter) command() string { return "echo $$ > '" + r.Name() + "'; exec sleep 1000" }

// pid waits for the command's ID.
func (r reporter) pid(t *testing.T) int {
	t.Helper()
	require.NoError(t, r.SetReadDeadline(time.Now().Add(long)))
	var pid int
	_, err := fmt.Fscan(r, &pid)
	require.NoError(t, err, "no command was started")
	require.NoError(t, syscall.Kill(pid, 0), "it runs")
	return pid
}

// requireGone fails if a process is there.
func requireGone(t *testing.T, pid int) {
	t.Helper()
	require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "the command lives on, without its program")
}
