package prockeep_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/procfile"
)

// A client of Keeper.Handler has the files, from the directory of the program that has
// the handler, and with its secrets masked.
func TestFilesThroughHandler(t *testing.T) {
	k := open(t, newDir(t), nil)
	const value = "k7Qv2mZp4a9XtR1bW8sE"
	t.Setenv("FILES_TEST_TOKEN", value)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Chdir(dir)
	require.NoError(t, os.WriteFile("f", []byte("a\nb="+value+"\n"), 0o600))
	client := clientOf(t, k.Handler())
	for _, files := range []procfile.Files{k, k.Chat("a").(procfile.Files), client, client.Chat("a").(procfile.Files)} {
		res, err := files.Read(t.Context(), procfile.ReadRequest{Path: "f"})
		require.NoError(t, err)
		require.Equal(t, []procfile.Line{{Text: "a"}, {Text: "b=[withheld: FILES_TEST_TOKEN]"}}, res.Lines)
		wrote, err := files.Write(t.Context(), procfile.WriteRequest{Path: "n", Content: "x\n"})
		require.NoError(t, err)
		require.Equal(t, dir, filepath.Dir(wrote.Path))
		_, err = files.Edit(t.Context(), procfile.EditRequest{Files: []procfile.FileEdit{{Path: "n", Version: wrote.Version, Edits: []procfile.Edit{{Search: "x", Replace: "y"}}}}})
		require.NoError(t, err)
	}
	_, err = client.Read(t.Context(), procfile.ReadRequest{Path: "g"})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// An edit whose answer is lost is done once, also if the client comes back through
// another program, and if the keeper was upgraded meanwhile.
func TestFilesLostAnswer(t *testing.T) {
	dir := newDir(t)
	first, second := open(t, dir, nil), open(t, dir, nil)
	handlers := []http.Handler{first.Handler(), second.Handler()}
	var asked atomic.Int32
	client := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/edit" {
			handlers[0].ServeHTTP(w, r)
			return
		}
		if n := asked.Add(1); n%2 == 1 {
			handlers[0].ServeHTTP(httptest.NewRecorder(), r) // the answer is lost
			if n == 3 {
				if err := second.Upgrade(t.Context()); err != nil {
					t.Error(err)
				}
			}
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		handlers[1].ServeHTTP(w, r)
	}))
	file := t.TempDir() + "/f"
	require.NoError(t, os.WriteFile(file, []byte("a\n"), 0o600))
	for range 2 {
		_, err := client.Edit(t.Context(), procfile.EditRequest{Files: []procfile.FileEdit{{Path: file, Edits: []procfile.Edit{{Search: "a\n", Replace: "aa\n"}}}}})
		require.NoError(t, err)
	}
	requireFile(t, file, "aaa\n")
	require.EqualValues(t, 4, asked.Load())
}

// Nobody can tell whether a keeper that was killed has written: an edit is not done
// again by the next keeper, and is procmgr.ErrUnknown. What is asked for after that is
// done.
func TestFilesAfterAKill(t *testing.T) {
	dir := newDir(t)
	k, direct := open(t, dir, nil), open(t, dir, nil)
	var asked atomic.Int32
	client := clientOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/edit" && asked.Add(1) == 1 {
			k.Handler().ServeHTTP(httptest.NewRecorder(), r) // the answer is lost
			kill(t, keeperPID(t, k))
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		k.Handler().ServeHTTP(w, r)
	}))
	file := t.TempDir() + "/f"
	require.NoError(t, os.WriteFile(file, []byte("a\n"), 0o600))
	edit := procfile.EditRequest{Files: []procfile.FileEdit{{Path: file, Edits: []procfile.Edit{{Search: "a\n", Replace: "aa\n"}}}}}
	_, err := client.Edit(t.Context(), edit)
	require.ErrorIs(t, err, procmgr.ErrUnknown)
	requireFile(t, file, "aa\n")
	_, err = client.Edit(t.Context(), edit)
	require.NoError(t, err)
	requireFile(t, file, "aaa\n")
	kill(t, keeperPID(t, k))
	_, err = direct.Edit(t.Context(), edit)
	require.NoError(t, err)
	requireFile(t, file, "aaaa\n")
}

func requireFile(t *testing.T, name, content string) {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, content, string(data))
}
