package prochttp_test

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/procfile"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// A noHost is a Host that can do nothing.
type noHost struct{ procmgr.Unsupported }

func (noHost) Chat(string) procmgr.Manager { return procmgr.Unsupported{} }

// serveFiles serves the files of a new directory. lose is asked before each answer
// whether to lose it.
func serveFiles(t *testing.T, opts prochttp.HandlerOptions, lose func(*http.Request) bool) (dir string, url string) {
	t.Helper()
	dir = t.TempDir()
	files, err := procfile.NewLocal(&procfile.LocalOptions{Root: dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	opts.Files = files
	handler, err := prochttp.NewHandler(noHost{}, &opts)
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if lose != nil && lose(r) {
			handler.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return dir, server.URL
}

// Each error of the files is the same error through a client.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir, url := serveFiles(t, prochttp.HandlerOptions{Token: "secret"}, nil)
	client, err := prochttp.NewClient(url, &prochttp.ClientOptions{Token: "secret"})
	require.NoError(t, err)
	ctx := t.Context()
	chat := client.Chat("a").(procfile.Files)

	wrote, err := client.Write(ctx, procfile.WriteRequest{Path: "d/a.txt", Content: "one\ntwo\n\"<&é\n"})
	require.NoError(t, err)
	require.True(t, wrote.Created)
	read, err := chat.Read(ctx, procfile.ReadRequest{Path: "d/a.txt", Offset: -2, Limit: 1})
	require.NoError(t, err)
	require.Equal(t, wrote.FileInfo, read.FileInfo)
	require.Equal(t, []procfile.Line{{Text: "two"}}, read.Lines)
	require.EqualValues(t, 2, read.From)
	edit := procfile.EditRequest{Files: []procfile.FileEdit{{Path: "d/a.txt", Version: read.Version, Edits: []procfile.Edit{{Search: "two", Replace: "2"}}}}}
	edited, err := chat.Edit(ctx, edit)
	require.NoError(t, err)
	require.Equal(t, 1, edited.Files[0].Places)
	data, err := os.ReadFile(filepath.Join(dir, "d", "a.txt"))
	require.NoError(t, err)
	require.Equal(t, "one\n2\n\"<&é\n", string(data))

	for want, do := range map[error]func() error{
		fs.ErrNotExist:      func() error { _, err := client.Read(ctx, procfile.ReadRequest{Path: "d/b.txt"}); return err },
		procfile.ErrNotText: func() error { _, err := client.Read(ctx, procfile.ReadRequest{Path: "d"}); return err },
		procmgr.ErrRefused:  func() error { _, err := client.Read(ctx, procfile.ReadRequest{Path: "../f"}); return err },
		procmgr.ErrInvalid:  func() error { _, err := client.Read(ctx, procfile.ReadRequest{}); return err },
		procfile.ErrChanged: func() error { _, err := client.Edit(ctx, edit); return err },
		procfile.ErrNoPlace: func() error {
			_, err := client.Edit(ctx, procfile.EditRequest{Files: []procfile.FileEdit{{Path: "d/a.txt", Edits: []procfile.Edit{{Search: "nowhere", Replace: ""}}}}})
			return err
		},
		procfile.ErrAmbiguous: func() error {
			_, err := client.Edit(ctx, procfile.EditRequest{Files: []procfile.FileEdit{{Path: "d/a.txt", Edits: []procfile.Edit{{Search: "\n", Replace: ""}}}}})
			return err
		},
	} {
		err := do()
		require.ErrorIs(t, err, want)
		require.NotContains(t, procfile.Reason(err), want.Error())
		require.NotEmpty(t, procfile.Reason(err))
	}

	stranger, err := prochttp.NewClient(url, &prochttp.ClientOptions{Token: "wrong"})
	require.NoError(t, err)
	_, err = stranger.Write(ctx, procfile.WriteRequest{Path: "d/a.txt", Content: "x"})
	require.ErrorIs(t, err, procmgr.ErrRefused)
}

// A caller that may act for one chat alone has the files there, and nowhere else.
func TestFilesOfAChat(t *testing.T) {
	t.Parallel()
	_, url := serveFiles(t, prochttp.HandlerOptions{Authorize: func(*http.Request) (prochttp.Scope, error) {
		return prochttp.Scope{Chats: func(id string) bool { return id == "a" }}, nil
	}}, nil)
	client, err := prochttp.NewClient(url, nil)
	require.NoError(t, err)
	_, err = client.Chat("a").(procfile.Files).Write(t.Context(), procfile.WriteRequest{Path: "x", Content: "y"})
	require.NoError(t, err)
	_, err = client.Chat("b").(procfile.Files).Read(t.Context(), procfile.ReadRequest{Path: "x"})
	require.ErrorIs(t, err, procmgr.ErrRefused)
	_, err = client.Read(t.Context(), procfile.ReadRequest{Path: "x"})
	require.ErrorIs(t, err, procmgr.ErrRefused)
}

// A write whose answer is lost is done once: asked again, an edit would not find its
// place any more.
func TestFilesLostAnswer(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	dir, url := serveFiles(t, prochttp.HandlerOptions{Insecure: true}, func(r *http.Request) bool {
		return (r.URL.Path == "/edit" || r.URL.Path == "/write") && asked.Add(1)%2 == 1
	})
	client, err := prochttp.NewClient(url, nil)
	require.NoError(t, err)
	wrote, err := client.Write(t.Context(), procfile.WriteRequest{Path: "x", Content: "a\n"})
	require.NoError(t, err)
	require.True(t, wrote.Created, "the answer is that of the first attempt")
	require.EqualValues(t, 2, asked.Load())
	_, err = client.Edit(t.Context(), procfile.EditRequest{Files: []procfile.FileEdit{{Path: "x", Version: wrote.Version, Edits: []procfile.Edit{{Search: "a", Replace: "aa"}}}}})
	require.NoError(t, err)
	require.EqualValues(t, 4, asked.Load())
	data, err := os.ReadFile(filepath.Join(dir, "x"))
	require.NoError(t, err)
	require.Equal(t, "aa\n", string(data))
}

func TestNoFiles(t *testing.T) {
	t.Parallel()
	handler, err := prochttp.NewHandler(noHost{}, &prochttp.HandlerOptions{Insecure: true})
	require.NoError(t, err)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := prochttp.NewClient(server.URL, nil)
	require.NoError(t, err)
	_, err = client.Read(t.Context(), procfile.ReadRequest{Path: "x"})
	require.ErrorIs(t, err, errors.ErrUnsupported)
}
