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

	"github.com/toolproc/toolproc/internal/testenv"
)

const (
	root    = "../.."
	library = "github.com/toolproc/toolproc"
)

// newUserModule returns a module with the go.mod of examples/agent, which also requires
// fantasy's providers.
func newUserModule(t *testing.T) testenv.UserModule {
	t.Helper()
	return testenv.NewUserModule(t, root+"/examples/agent")
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
