//go:build unix

package readme_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	root    = "../.."
	library = "github.com/toolproc/toolproc"
)

// A userModule is the directory of a module outside of the repository that uses the
// library, as a user's module does.
type userModule string

// newUserModule returns a module with the go.mod of examples/agent, which also requires
// fantasy's providers.
func newUserModule(t *testing.T) userModule {
	t.Helper()
	m := userModule(t.TempDir())
	for _, name := range []string{"go.mod", "go.sum"} {
		m.write(t, name, read(t, "examples/agent/"+name))
	}
	modules, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "-replace={{.Path}}={{.Dir}}").Output()
	require.NoError(t, err)
	m.run(t, "go", append([]string{"mod", "edit", "-module=user.example"}, strings.Fields(string(modules))...)...)
	return m
}

// write writes a file, and the directories that it is in.
func (m userModule) write(t *testing.T, name, content string) {
	t.Helper()
	name = filepath.Join(string(m), filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(content), 0o644))
}

// run runs a command in the module.
func (m userModule) run(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = string(m)
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", cmd, out)
}

// read returns a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	require.NoError(t, err)
	return string(content)
}

// The comparison says how many modules a program with the tools has beside its own.
func TestComparedModules(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", library+"/procmgr/proclocal", library+"/chattool/toolset")
	out, err := cmd.Output()
	require.NoError(t, err)
	modules := make(map[string]bool)
	for path := range strings.FieldsSeq(string(out)) {
		modules[path] = true
	}
	delete(modules, library)
	said := regexp.MustCompile(`\| (\d+) modules; a program of|\| (\d+); \d+\.\d MB \|\n`).FindAllStringSubmatch(read(t, "docs/compare.md"), -1)
	require.Len(t, said, 2)
	for _, match := range said {
		require.Equal(t, strconv.Itoa(len(modules)), match[1]+match[2])
	}
}
