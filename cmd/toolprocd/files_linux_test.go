package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr/procfile"
)

// The files of another machine are read and written through ssh, stdio and a keeper,
// and each edit is done once, though the way is killed again and again.
func TestHeldFilesOverSSH(t *testing.T) {
	testenv.Held(t)
	way := append(testenv.SSH(t), newMachine(t).words("stdio")...)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	c := clientVia(t, append([]string{"sh", "-c", "echo $$ > " + dir + `/way; exec "$@"`, "sh"}, way...))
	path := filepath.Join(dir, "f")
	wrote, err := c.Write(t.Context(), procfile.WriteRequest{Path: path, Content: "begin\r\nend\r\n"})
	require.NoError(t, err)
	require.True(t, wrote.Created)
	read, err := c.Chat("a").(procfile.Files).Read(t.Context(), procfile.ReadRequest{Path: path})
	require.NoError(t, err)
	require.Equal(t, procfile.CRLF, read.Ends)
	_, err = c.Write(t.Context(), procfile.WriteRequest{Path: path, Content: "x", Version: "another"})
	require.ErrorIs(t, err, procfile.ErrChanged)
	_, err = c.Read(t.Context(), procfile.ReadRequest{Path: filepath.Join(dir, "g")})
	require.ErrorIs(t, err, os.ErrNotExist)

	const callers = 24
	var done sync.WaitGroup
	errs := make([]error, callers)
	for i := range callers {
		done.Go(func() {
			edit := procfile.Edit{Search: "end\n", Replace: fmt.Sprintf("%d\nend\n", i)}
			_, errs[i] = c.Edit(t.Context(), procfile.EditRequest{Key: fmt.Sprint("edit-", i), Files: []procfile.FileEdit{{Path: path, Edits: []procfile.Edit{edit}}}})
		})
	}
	over := make(chan struct{})
	go func() { // waited for below
		done.Wait()
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
		require.NoError(t, err, i)
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, 26, strings.Count(string(data), "\r\n"))
	var got []int
	for _, line := range strings.Split(string(data), "\r\n")[1:25] {
		n, err := strconv.Atoi(line)
		require.NoError(t, err)
		got = append(got, n)
	}
	slices.Sort(got)
	for i, n := range got {
		require.Equal(t, i, n)
	}
}
