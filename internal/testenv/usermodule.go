package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

const library = "github.com/toolproc/toolproc"

// A UserModule is a module outside of the repository that uses the library, as a user's
// module does.
type UserModule struct{ Dir string }

// NewUserModule returns a module with the go.mod and go.sum of one of the repository's
// modules, which is in the directory from.
func NewUserModule(t testing.TB, from string) UserModule {
	t.Helper()
	m := UserModule{t.TempDir()}
	for _, name := range []string{"go.mod", "go.sum"} {
		m.Write(t, name, contents(t, filepath.Join(from, name)))
	}
	tree := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", library)
	dir, err := tree.Output()
	if err != nil {
		t.Fatalf("%s: %v", tree, err)
	}
	m.Run(t, "go", "mod", "edit", "-module=user.example", "-replace="+library+"="+strings.TrimSpace(string(dir)))
	return m
}

// Write writes a file, and the directories that it is in.
func (m UserModule) Write(t testing.TB, name, content string) {
	t.Helper()
	name = filepath.Join(m.Dir, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = os.WriteFile(name, []byte(content), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Run runs a command in the module.
func (m UserModule) Run(t testing.TB, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = m.Dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

var modulePath = regexp.MustCompile(`(?m)^module (\S+)$`)

// Copied builds the program on the page README.md of the test's module as somebody does
// who copies it to a module of their own, with the versions of the page's module. The
// page has no other block of Go. Copied returns the block, and the path of the program.
func Copied(t testing.TB) (block, program string) {
	t.Helper()
	_, rest, found := strings.Cut(contents(t, "README.md"), "```go\n")
	block, rest, closed := strings.Cut(rest, "```")
	if !found || !closed || strings.Contains(rest, "```go\n") {
		t.Fatal("README.md has not one block of Go")
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	own := modulePath.FindStringSubmatch(contents(t, "go.mod"))[1]
	m := NewUserModule(t, here)
	m.Run(t, "go", "mod", "edit", "-require="+own+"@v0.0.0", "-replace="+own+"="+here)
	m.Write(t, "main.go", block)
	program = filepath.Join(m.Dir, "program")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	m.Run(t, "go", "build", "-o", program, ".")
	return block, program
}

func contents(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
