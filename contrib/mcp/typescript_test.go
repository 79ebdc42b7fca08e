package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// The official TypeScript client works over stdio and over streamable HTTP. The
// test needs bash, node and npm, and on its first run the network.
func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bash", "node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			if os.Getenv("TOOLPROC_NEEDS") == "all" { // as in CI
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	url, token, _ := startHTTP(t, dir)
	// Its Close ends npm, node and their children, whatever happens.
	client, err := directory(filepath.Join("testdata", "client"))
	require.NoError(t, err)
	local, err := proclocal.New(&proclocal.Options{
		WorkDir: client,
		Env:     envpolicy.Policy{Allow: []string{"*"}}, // npm may have to log in
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, local.Close()) })
	for kind, target := range map[string][]string{
		"stdio": {program(t, dir).Path},
		"http":  {url, token},
	} {
		t.Run(kind, func(t *testing.T) {
			out, err := local.Start(t.Context(), procmgr.StartRequest{
				Command: "exec bash run.sh '" + strings.Join(append([]string{kind}, target...), "' '") + "'",
				Wait:    4 * long, // this includes an installation
			})
			require.NoError(t, err)
			t.Log(out.Text)
			require.NotNil(t, out.Process.ExitCode, "it takes too long")
			require.Zero(t, *out.Process.ExitCode)
			for _, check := range []string{"list", "call", "bad arguments", "progress", "cancel", "lost connection", "two sessions"} {
				require.Contains(t, out.Text, "ok "+kind+": "+check+"\n")
			}
		})
	}
}

// The lock file names no other source than the registry that npm is configured
// for.
func TestLockFile(t *testing.T) {
	t.Parallel()
	lock, err := os.ReadFile(filepath.Join("testdata", "client", "package-lock.json"))
	require.NoError(t, err)
	require.NotContains(t, string(lock), `"resolved"`, "npm install --package-lock-only --omit-lockfile-registry-resolved leaves it out")
	require.Equal(t, bytes.Count(lock, []byte(`"node_modules/`)), bytes.Count(lock, []byte(`"integrity": "sha512-`)))
	for _, found := range regexp.MustCompile(`"(\w+)": "https?://[^"]*"`).FindAllSubmatch(lock, -1) {
		require.Equal(t, "url", string(found[1]), "only where packages ask for funding is there a URL: %s", found[0])
	}
	require.NotContains(t, strings.ToLower(string(lock)), "registry")
}
