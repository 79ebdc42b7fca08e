package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const library = "github.com/toolproc/toolproc"

// Copied builds the program on the page README.md of the test's module as somebody does
// who copies it: in a module outside of the repository, with the versions of the page's
// module. The page has no other block of Go. Copied returns the block, and the path of
// the program.
func Copied(t testing.TB) (block, program string) {
	t.Helper()
	page := read(t, "README.md")
	_, rest, found := strings.Cut(page, "```go\n")
	block, rest, closed := strings.Cut(rest, "```")
	if !found || !closed || strings.Contains(rest, "```go\n") {
		t.Fatal("README.md has not one block of Go")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"main.go": block, "go.mod": read(t, "go.mod"), "go.sum": read(t, "go.sum")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	root := strings.TrimSpace(run(t, ".", os.Environ(), "go", "list", "-m", "-f", "{{.Dir}}", library))
	outside := append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod -buildvcs=false")
	edit := []string{"mod", "edit", "-module=user.example", "-replace=" + library + "=" + root}
	if own := library + "/" + filepath.Base(here); strings.Contains(block, own+`"`) { // a library itself
		edit = append(edit, "-require="+own+"@v0.1.0", "-replace="+own+"="+here)
	}
	run(t, dir, outside, "go", edit...)
	program = filepath.Join(dir, "program")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	run(t, dir, outside, "go", "build", "-o", program, ".")
	return block, program
}

func read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func run(t testing.TB, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
