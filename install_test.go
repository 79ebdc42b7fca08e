//go:build install

package toolproc_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestInstall installs every example as a user does, by "go install PATH@latest"
// in a directory that is not the repository, from a proxy that has this tree as
// the newest version of each module. Then it runs what it has installed.
//
// The dependencies of the examples take minutes to compile, so this test needs a
// build tag: bash .ci/run install.
func TestInstall(t *testing.T) {
	proxy := t.TempDir()
	var modules []string // directories
	for _, name := range files(t, ".mod") {
		modules = append(modules, filepath.Dir(name))
	}
	for _, dir := range modules {
		publish(t, proxy, dir)
		fetch(t, dir)
	}
	// What is not of this repository comes from what this machine has. Nothing
	// is asked for elsewhere: the names would be those of a version that is not
	// published.
	cache := strings.TrimSpace(string(output(t, nil, "go", "env", "GOMODCACHE")))
	bin := t.TempDir()
	env := append(os.Environ(),
		"GOPROXY="+fileURL(proxy)+","+fileURL(filepath.Join(cache, "cache", "download"))+",off",
		"GONOPROXY=none", "GOPRIVATE=", "GOSUMDB=off", // no server has seen this version
		"GOMODCACHE="+t.TempDir(), "GOBIN="+bin, "GOWORK=",
		"GOFLAGS=-modcacherw -trimpath", // else nothing is found in the build cache again
	)
	for name, try := range installed {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "go", "install", module+"/examples/"+name+"@latest")
			cmd.Dir, cmd.Env = t.TempDir(), env
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			cmd = exec.CommandContext(t.Context(), filepath.Join(bin, name), try.args...)
			cmd.Dir = t.TempDir()
			in, err := cmd.StdinPipe()
			require.NoError(t, err)
			said := &listener{want: try.says, heard: func() { in.Close() }}
			cmd.Stdout, cmd.Stderr = said, said
			require.NoError(t, cmd.Start())
			_, _ = io.WriteString(in, try.in) // what reads nothing may have ended
			err = cmd.Wait()
			require.Equal(t, try.code, cmd.ProcessState.ExitCode(), "%v\n%s", err, &said.all)
			require.Contains(t, said.all.String(), try.says)
		})
	}
	examples, err := filepath.Glob(filepath.Join("examples", "*", "main.go"))
	require.NoError(t, err)
	for _, name := range examples {
		require.Contains(t, installed, filepath.Base(filepath.Dir(name)), "%s is not installed", name)
	}
	require.Len(t, examples, len(installed))
}

// A listener keeps what a program prints, and tells when it has printed
// something.
type listener struct {
	all   bytes.Buffer
	want  string
	heard func()
}

func (l *listener) Write(p []byte) (int, error) {
	n, err := l.all.Write(p)
	if strings.Contains(l.all.String(), l.want) {
		l.heard()
	}
	return n, err
}

// installed says for each example how to see that it works: what it prints. Its
// input ends then.
var installed = map[string]struct {
	args []string
	in   string
	code int
	says string
}{
	"quickstart": {says: "each once; none of them is running."},
	"customloop": {says: "nothing is left running."},
	"remote":     {says: "The migration has run once"},
	"metrics":    {says: "procmgr: start"},
	"agent":      {args: []string{"-provider", "openai"}, code: 1, says: "-model is missing"},
	"mcp": {
		in:   `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}` + "\n",
		says: `"name":"toolproc"`,
	},
}

// publish writes a module of the tree into a proxy, in the version that the
// other modules of the tree want of this library.
func publish(t *testing.T, proxy, dir string) {
	t.Helper()
	var mod, work modFile
	goJSON(t, &mod, "mod", "edit", "-json", filepath.Join(dir, "go.mod"))
	goJSON(t, &work, "work", "edit", "-json", "go.work")
	version := work.Replace[0].Old.Version
	to := filepath.Join(proxy, filepath.FromSlash(mod.Module.Path), "@v")
	require.NoError(t, os.MkdirAll(to, 0o755))
	info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Now().UTC()})
	require.NoError(t, err)
	for name, content := range map[string]string{
		"list":            version + "\n",
		version + ".info": string(info),
		version + ".mod":  readFile(t, filepath.Join(dir, "go.mod")),
		version + ".zip":  zipped(t, dir, mod.Module.Path+"@"+version),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(to, name), []byte(content), 0o644))
	}
}

// zipped returns the files of a module, without those of the modules below it.
func zipped(t *testing.T, dir, prefix string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			_, noModule := os.Stat(filepath.Join(name, "go.mod"))
			if name != dir && noModule == nil || entry.Name() == ".git" || entry.Name() == "node_modules" {
				return fs.SkipDir
			}
			return nil
		}
		relative, err := filepath.Rel(dir, name)
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		w, err := z.Create(path.Join(prefix, filepath.ToSlash(relative)))
		if err == nil {
			_, err = w.Write(content)
		}
		return err
	})
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.String()
}

// fetch has this machine get what a module is built with, checked against its
// go.sum, in the versions that the module by itself wants.
func fetch(t *testing.T, dir string) {
	t.Helper()
	alone := filepath.Join(t.TempDir(), "go.mod")
	sums := readFile(t, filepath.Join(dir, "go.sum"))
	require.NoError(t, os.WriteFile(alone, []byte(readFile(t, filepath.Join(dir, "go.mod"))), 0o644))
	require.NoError(t, os.WriteFile(strings.TrimSuffix(alone, ".mod")+".sum", []byte(sums), 0o644))
	root, err := os.Getwd()
	require.NoError(t, err)
	if dir != "." {
		output(t, nil, "go", "mod", "edit", "-replace="+module+"="+root, alone)
	}
	output(t, []string{"GOWORK=off"}, "go", "-C", dir, "list", "-deps", "-modfile="+alone, "./...")
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
