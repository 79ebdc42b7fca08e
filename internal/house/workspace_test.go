package house_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A modFile holds the fields of a go.mod, or of go.work, that a test reads.
type modFile struct {
	Use     []struct{ DiskPath string } // of go.work
	Module  struct{ Path string }
	Require []struct{ Path, Version string }
	Replace []struct {
		Old struct{ Path, Version string }
		New struct{ Path string }
	}
}

// version returns the version of another module that a module requires.
func (m modFile) version(path string) string {
	for _, r := range m.Require {
		if r.Path == path {
			return r.Version
		}
	}
	return ""
}

// Users install an example with "go install PATH@VERSION", which refuses a
// module that replaces others. So no go.mod has a replace, and go.work lets the
// examples of this repository use the library of this repository.
func TestWorkspace(t *testing.T) {
	inRoot(t)
	var work modFile
	goJSON(t, &work, "work", "edit", "-json", "go.work")
	var used []string
	for _, use := range work.Use {
		used = append(used, filepath.Join(use.DiskPath, "go.mod"))
	}
	replaced := make(map[string]string) // versions, by path
	for _, r := range work.Replace {
		require.True(t, below(r.Old.Path, module), "go.work replaces modules of this repository and nothing else")
		replaced[r.Old.Path] = r.Old.Version
	}
	for _, name := range files(t, ".mod") {
		if _, err := os.Stat(filepath.Join(filepath.Dir(name), "go.work")); name == "go.mod" || err != nil { // it has no workspace of its own
			require.Contains(t, used, name, "go.work leaves a module out: go work use %s", filepath.Dir(name))
		}
		var mod modFile
		goJSON(t, &mod, "mod", "edit", "-json", name)
		require.Empty(t, mod.Replace, "%s: with a replace nobody can install it; go.work is the place for one", name)
		if mod.Module.Path != module {
			require.Equal(t, replaced[module], mod.version(module), "%s and go.work name different versions of the library", name)
		}
		for path, version := range replaced {
			require.Contains(t, []string{"", version}, mod.version(path), "%s and go.work name different versions of %s", name, path)
		}
	}
}

// A user of procnats gets no NATS server into the module graph, and no indirect
// dependency of a server.
func TestFleetWithoutAServer(t *testing.T) {
	inRoot(t)
	var mod modFile
	goJSON(t, &mod, "mod", "edit", "-json", filepath.Join("contrib", "procnats", "go.mod"))
	require.NotEmpty(t, mod.version("github.com/nats-io/nats.go"))
	for _, r := range mod.Require {
		require.NotContains(t, r.Path, "nats-server")
		require.NotContains(t, r.Path, "nats-io/jwt", "only a server needs it")
	}
}

// In the workspace, all modules share the highest version that one of them
// requires. But the tests of the library must run with the versions of its own
// go.mod, because its users get those.
func TestWorkspaceVersions(t *testing.T) {
	inRoot(t)
	versions := func(workspace string) []string {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-test", "-f",
			"{{with .Module}}{{if .Version}}{{.Path}} {{.Version}}{{end}}{{end}}", "./...")
		cmd.Env = append(os.Environ(), "GOWORK="+workspace)
		out, err := cmd.Output()
		require.NoError(t, err)
		lines := slices.Sorted(strings.Lines(string(out)))
		return slices.Compact(lines)
	}
	root, err := os.Getwd()
	require.NoError(t, err)
	require.Equal(t, versions("off"), versions(filepath.Join(root, "go.work")))
}

// goJSON runs a go command and decodes its output.
func goJSON(t *testing.T, v any, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	require.NoError(t, err, "go %s", strings.Join(args, " "))
	require.NoError(t, json.Unmarshal(out, v))
}
