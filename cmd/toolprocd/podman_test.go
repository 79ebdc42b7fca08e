//go:build podman

package main_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// TestPodman goes through podman exec into a real container. It needs root,
// podman, runc and a static busybox, and so a build tag:
//
//	go test -tags podman -run TestPodman ./cmd/toolprocd
func TestPodman(t *testing.T) {
	store, err := os.MkdirTemp("", "p") //nolint:usetesting // podman limits the length of its paths
	require.NoError(t, err)
	podman := []string{
		"podman", "--root", store + "/store", "--runroot", store + "/run", "--tmpdir", store + "/tmp",
		"--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", "--runtime", "runc",
	}
	run := func(in io.Reader, args ...string) string {
		t.Helper()
		cmd := exec.Command(podman[0], append(podman[1:], args...)...)
		cmd.Stdin = in
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "podman %s: %s", strings.Join(args, " "), out)
		return strings.TrimSpace(string(out))
	}
	t.Cleanup(func() {
		run(nil, "rm", "--all", "--force", "--time", "0")
		require.NoError(t, os.RemoveAll(store))
	})

	// An image of busybox and toolprocd.
	image := t.TempDir()
	script := `cp "$(command -v busybox)" bin/busybox && chroot . /bin/busybox --install -s /bin && cp "$1" bin/toolprocd && tar -c .`
	require.NoError(t, os.MkdirAll(filepath.Join(image, "bin"), 0o755))
	tar := exec.Command("sh", "-c", script, "sh", program())
	tar.Dir, tar.Stderr = image, os.Stderr
	files, err := tar.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, tar.Start())
	run(files, "import", "--quiet", "-", "box:1")
	require.NoError(t, tar.Wait())

	// The files of the tests are there under the same names. The limits are low enough
	// for a machine without CAP_SYS_RESOURCE.
	run(nil, "run", "--detach", "--init=false", "--name", "box", "--network", "none", "--volume", os.TempDir()+":"+os.TempDir(),
		"--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000", "box:1", "/bin/sh", "-c", "while :; do sleep 1; done")
	far := append(podman, "exec", "-i", "box", "toolprocd", "stdio")

	t.Run("killed", func(t *testing.T) {
		wayIsKilled(t, func(pid string) []string {
			return append([]string{"sh", "-c", "echo $$ > " + pid + `; exec "$@"`, "sh"}, far...)
		})
	})
	t.Run("suite", func(t *testing.T) {
		c := clientVia(t, far)
		proctest.TestHost(t, func(*testing.T) procmgr.Host { return c })
	})
}
