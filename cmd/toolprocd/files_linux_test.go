package main_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/filetool/filehttp"
	"github.com/toolproc/toolproc/contrib/filetool/procfile"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
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

// The files of another machine are read and written through ssh and stdio, and no edit is
// done twice, though the way is killed again and again: it is done, or it is unknown
// whether it was.
func TestHeldFilesOverSSH(t *testing.T) {
	testenv.Held(t)
	way := append(testenv.SSH(t), newMachine(t).words("stdio")...)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	c := filesVia(t, append([]string{"sh", "-c", "echo $$ > " + dir + `/way; exec "$@"`, "sh"}, way...))
	path := filepath.Join(dir, "f")
	wrote, err := c.Write(t.Context(), procfile.WriteRequest{Path: path, Content: "begin\r\nend\r\n"})
	require.NoError(t, err)
	require.True(t, wrote.Created)
	read, err := c.Read(t.Context(), procfile.ReadRequest{Path: path})
	require.NoError(t, err)
	require.Equal(t, procfile.CRLF, read.Ends)
	_, err = c.Write(t.Context(), procfile.WriteRequest{Path: path, Content: "x", Version: "another"})
	require.ErrorIs(t, err, procfile.ErrChanged)
	_, err = c.Read(t.Context(), procfile.ReadRequest{Path: filepath.Join(dir, "g")})
	require.ErrorIs(t, err, os.ErrNotExist)

	const edits = 24
	var callers sync.WaitGroup
	errs := make([]error, edits)
	for i := range edits {
		callers.Go(func() {
			edit := procfile.Edit{Search: "end\n", Replace: fmt.Sprintf("%d\nend\n", i)}
			_, errs[i] = c.Edit(t.Context(), procfile.EditRequest{Key: fmt.Sprint("edit-", i), Files: []procfile.FileEdit{{Path: path, Edits: []procfile.Edit{edit}}}})
		})
	}
	over := make(chan struct{})
	go func() { // waited for below
		callers.Wait()
		close(over)
	}()
	for kills := 0; kills < 3; kills++ {
		select {
		case <-over:
		case <-time.After(20 * time.Millisecond):
			data, _ := os.ReadFile(dir + "/way") // it may be written right now
			if pid, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
			}
		}
	}
	<-over
	for i, err := range errs {
		if !errors.Is(err, procmgr.ErrUnknown) {
			require.NoError(t, err, i)
		}
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(string(data), "\r\n"), "\r\n")
	require.Equal(t, "begin", lines[0])
	require.Equal(t, "end", lines[len(lines)-1])
	done := make(map[string]bool)
	for _, line := range lines[1 : len(lines)-1] {
		require.False(t, done[line], "%s twice", line)
		done[line] = true
	}
	for i, err := range errs {
		require.True(t, done[strconv.Itoa(i)] || err != nil, i)
	}
}
