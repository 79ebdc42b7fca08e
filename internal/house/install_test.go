//go:build install

package house_test

import (
	"bytes"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInstall installs every program of cmd and examples as a user does: with "go install
// PATH@latest", in a directory outside of the repository, where this tree is the
// newest version of each module.
//
// Their dependencies take minutes to compile, so this test needs a
// build tag: bash .ci/run install. With TOOLPROC_HELD=all it compiles all of them.
func TestInstall(t *testing.T) {
	inRoot(t)
	var modules []string // directories
	for _, name := range files(t, ".mod") {
		modules = append(modules, filepath.Dir(name))
	}
	// Modules from outside this repository come from the cache of this machine, as far as
	// it has them.
	cache := strings.TrimSpace(string(output(t, nil, "go", "env", "GOMODCACHE")))
	proxy := strings.TrimSpace(string(output(t, nil, "go", "env", "GOPROXY")))
	env := append(append(os.Environ(), publish(t, modules)...),
		"GOPROXY="+fileURL(filepath.Join(cache, "cache", "download"))+","+proxy,
		"GOPRIVATE="+module, // no server knows this version
		"GOMODCACHE="+t.TempDir(), "GOBIN="+t.TempDir(), "GOWORK=",
		"GOFLAGS=-modcacherw -trimpath", // otherwise nothing is found in the build cache the next time
	)
	in := func(t *testing.T, dir string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	// Whether all packages of a program or a library are found is told without compiling them.
	resolves := func(t *testing.T, name string) {
		t.Helper()
		dir := t.TempDir()
		in(t, dir, "mod", "init", "user.example")
		in(t, dir, "get", module+"/"+name+"@latest")
		in(t, dir, "list", "-deps", module+"/"+name)
	}
	// The step modules compiles what takes long, and the tests of each program run it.
	slow := []string{"examples/agent", "contrib/examples/openai", "contrib/examples/anthropic", "contrib/acp"}
	for _, pattern := range []string{"examples/*/main.go", "contrib/*/main.go", "contrib/*/*/main.go", "cmd/*/main.go"} {
		found, err := filepath.Glob(filepath.FromSlash(pattern))
		require.NoError(t, err)
		require.NotEmpty(t, found, pattern)
		for _, name := range found {
			name = filepath.ToSlash(filepath.Dir(name))
			t.Run(name, func(t *testing.T) {
				if slices.Contains(slow, name) && os.Getenv("TOOLPROC_HELD") != "all" {
					resolves(t, name)
					return
				}
				in(t, t.TempDir(), "install", module+"/"+name+"@latest")
			})
		}
	}
	// A user of the library alone gets none of contrib's dependencies, and builds.
	t.Run("the library", func(t *testing.T) {
		dir := t.TempDir()
		in(t, dir, "mod", "init", "user.example")
		require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(libraryUser), 0o600))
		in(t, dir, "get", module+"@latest")
		in(t, dir, "mod", "tidy")
		in(t, dir, "run", ".")
		graph := readFile(t, filepath.Join(dir, "go.mod")) + readFile(t, filepath.Join(dir, "go.sum"))
		require.NotContains(t, graph, module+"/contrib")
		for _, other := range []string{"nats-io", "opentelemetry", "chromedp", "openai", "modelcontextprotocol"} {
			require.NotContains(t, graph, other)
		}
	})
	for _, name := range []string{"filetool", "procnats", "procotel", "procview", "sandbox", "shellfacts", "shellfacts/policy"} {
		t.Run(name, func(t *testing.T) { resolves(t, "contrib/"+name) })
	}
}

// libraryUser is a program that needs the library alone.
const libraryUser = `package main

import (
	"context"
	"encoding/json"
	"log"
	"strings"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

func main() {
	manager, err := proclocal.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	set, err := toolset.New(toolset.Static(manager.Chat("chat")), nil)
	if err != nil {
		log.Fatal(err)
	}
	res := set.Call(context.Background(), toolset.Call{Name: "execute", Arguments: json.RawMessage(` + "`" + `{"command":"echo it runs"}` + "`" + `)})
	if err := manager.Close(); err != nil || !strings.Contains(res.Content, "it runs") {
		log.Fatal(err, res.Content)
	}
}
`

// publish makes a repository of the tree, in which each module has a tag of the version that
// the other modules of the tree require. It returns the variables with which git takes it
// for the real one.
func publish(t *testing.T, modules []string) (env []string) {
	t.Helper()
	repository := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		args = append([]string{"-c", "user.name=test", "-c", "user.email=test", "-c", "commit.gpgsign=false"}, args...)
		output(t, []string{"GIT_DIR=" + repository, "GIT_WORK_TREE=."}, "git", args...)
	}
	var work modFile
	goJSON(t, &work, "work", "edit", "-json", "go.work")
	git("init", "-q")
	git("add", "-A")
	git("commit", "-q", "-m", "the tree")
	for _, dir := range modules {
		git("tag", path.Join(filepath.ToSlash(dir), work.Replace[0].Old.Version))
	}
	return []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url." + fileURL(repository) + ".insteadOf", "GIT_CONFIG_VALUE_0=https://" + module}
}

// output runs a command in the repository.
func output(t *testing.T, env []string, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s %s\n%s", name, strings.Join(args, " "), &stderr)
	return out
}

// fileURL returns the URL of a directory.
func fileURL(dir string) string {
	dir = filepath.ToSlash(dir)
	if runtime.GOOS == "windows" {
		dir = "/" + dir
	}
	return (&url.URL{Scheme: "file", Path: dir}).String()
}
