package main_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/filetool/filehttp"
	"github.com/toolproc/toolproc/contrib/filetool/procfile"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// filesVia returns a client of the files behind a command.
func filesVia(t testing.TB, words []string) *filehttp.Client {
	t.Helper()
	return filesOf(t, "http://localhost", &filehttp.ClientOptions{Dial: prochttp.Command(words...)})
}

func filesOf(t testing.TB, url string, opts *filehttp.ClientOptions) *filehttp.Client {
	t.Helper()
	c, err := filehttp.NewClient(url, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// The files are served to a client with the token, at the URL of the processes.
func TestServeFiles(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), program(), "serve", "-unix", dir+"/s")
	cmd.Dir = dir
	address, _ := says(t, cmd, "listening on ")
	c := filesOf(t, "unix://"+address, nil)
	wrote, err := c.Write(t.Context(), procfile.WriteRequest{Path: "f", Content: "a\n"})
	require.NoError(t, err)
	require.True(t, wrote.Created)
	data, err := os.ReadFile(dir + "/f")
	require.NoError(t, err)
	require.Equal(t, "a\n", string(data))
	processes, err := prochttp.NewClient("unix://"+address, nil)
	require.NoError(t, err)
	hello(t, processes)
	require.NoError(t, processes.Close())
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
}
