package filehttp_test

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/filetool/filehttp"
	"github.com/toolproc/toolproc/contrib/filetool/procfile"
	"github.com/toolproc/toolproc/procmgr"
)

// newHandler returns the handler of the files of a directory.
func newHandler(t *testing.T, dir string, opts filehttp.HandlerOptions) http.Handler {
	t.Helper()
	files, err := procfile.NewLocal(&procfile.LocalOptions{Root: dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	handler, err := filehttp.NewHandler(files, &opts)
	require.NoError(t, err)
	return handler
}

func serve(t *testing.T, handler http.Handler) (url string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func newClient(t *testing.T, url string, opts *filehttp.ClientOptions) *filehttp.Client {
	t.Helper()
	client, err := filehttp.NewClient(url, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

// Results and errors are the same through a client.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url := serve(t, newHandler(t, dir, filehttp.HandlerOptions{Token: "secret"}))
	client := newClient(t, url, &filehttp.ClientOptions{Token: "secret"})
	ctx := t.Context()

	wrote, err := client.Write(ctx, procfile.WriteRequest{Path: "d/a.txt", Content: "one\ntwo\n\"<&é\n"})
	require.NoError(t, err)
	require.True(t, wrote.Created)
	read, err := client.Read(ctx, procfile.ReadRequest{Path: "d/a.txt", Offset: -2, Limit: 1})
	require.NoError(t, err)
	require.Equal(t, wrote.FileInfo, read.FileInfo)
	require.Equal(t, []procfile.Line{{Text: "two"}}, read.Lines)
	require.EqualValues(t, 2, read.From)
	edit := procfile.EditRequest{Files: []procfile.FileEdit{{Path: "d/a.txt", Version: read.Version, Edits: []procfile.Edit{{Search: "two", Replace: "2"}}}}}
	edited, err := client.Edit(ctx, edit)
	require.NoError(t, err)
	require.Equal(t, 1, edited.Files[0].Places)
	data, err := os.ReadFile(filepath.Join(dir, "d", "a.txt"))
	require.NoError(t, err)
	require.Equal(t, "one\n2\n\"<&é\n", string(data))

	if runtime.GOOS == "linux" { // where the name of a file may be no UTF-8
		require.NoError(t, os.WriteFile(filepath.Join(dir, "n\xff"), []byte("there\n"), 0o600))
		require.NoError(t, os.Symlink("n\xff", filepath.Join(dir, "link")))
		read, err = client.Read(ctx, procfile.ReadRequest{Path: "link"})
		require.NoError(t, err)
		require.Equal(t, "n\ufffd", filepath.Base(read.Path))
	}
	for want, do := range map[error]func() error{
		fs.ErrNotExist:      func() error { _, err := client.Read(ctx, procfile.ReadRequest{Path: "d/b.txt"}); return err },
		procfile.ErrNotText: func() error { _, err := client.Read(ctx, procfile.ReadRequest{Path: "d"}); return err },
		procmgr.ErrRefused:  func() error { _, err := client.Read(ctx, procfile.ReadRequest{Path: "../f"}); return err },
		procmgr.ErrInvalid: func() error {
			_, err := client.Write(ctx, procfile.WriteRequest{Path: "d/x", Content: "\xff"})
			return err
		},
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
		require.NotContains(t, procfile.Reason(err), "filehttp")
		require.NotEmpty(t, procfile.Reason(err))
	}
}

// Nothing is read or written for a caller without the token, for a web page, or under the
// name of a web page.
func TestRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	handler := newHandler(t, dir, filehttp.HandlerOptions{Token: "secret", Hosts: []string{"build.example"}})
	url := serve(t, handler)
	_, err := newClient(t, url, &filehttp.ClientOptions{Token: "wrong"}).Write(t.Context(), procfile.WriteRequest{Path: "a.txt", Content: "x"})
	require.ErrorIs(t, err, procmgr.ErrRefused)
	_, err = newClient(t, url, nil).Read(t.Context(), procfile.ReadRequest{Path: "a.txt"})
	require.ErrorIs(t, err, procmgr.ErrRefused)
	for _, tt := range []struct {
		name, host, header, value, body string
		status                          int
	}{
		{name: "as it should be", host: "build.example:8443", status: 200},
		{name: "an address", host: "[::1]:80", status: 200},
		{name: "the name of a page", host: "evil.example", status: 403},
		{name: "a page", host: "localhost", header: "Origin", value: "https://evil.example", status: 403},
		{name: "a page of the same site", host: "localhost", header: "Sec-Fetch-Site", value: "same-origin", status: 403},
		{name: "two tokens", host: "localhost", header: "Authorization", value: "Bearer secret", status: 401},
		{name: "a form", host: "localhost", header: "Content-Type", value: "text/plain", status: 400},
		{name: "a field too many", host: "localhost", body: `{"path":"a.txt","content":"x","root":"/"}`, status: 400},
		{name: "a field twice", host: "localhost", body: `{"path":"b.txt","path":"a.txt","content":"x"}`, status: 400},
		{name: "a field in other letters", host: "localhost", body: `{"Path":"a.txt","content":"x"}`, status: 400},
		{name: "no UTF-8", host: "localhost", body: "{\"path\":\"a.txt\",\"content\":\"\xff\"}", status: 400},
		{name: "something behind", host: "localhost", body: `{"path":"a.txt","content":"x"}{}`, status: 400},
		{name: "too long", host: "localhost", body: `{"path":"a.txt","content":"` + strings.Repeat("x", 8<<20) + `"}`, status: 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := tt.body
			if body == "" {
				body = `{"path":"a.txt","content":"x"}`
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/write", strings.NewReader(body))
			r.Host = tt.host
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer secret")
			if tt.header == "Authorization" {
				r.Header.Add(tt.header, tt.value)
			} else if tt.header != "" {
				r.Header.Set(tt.header, tt.value)
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			require.Equal(t, tt.status, w.Code, w.Body)
			err := os.Remove(filepath.Join(dir, "a.txt"))
			require.Equal(t, tt.status == http.StatusOK, err == nil)
		})
	}
	for _, opts := range []*filehttp.HandlerOptions{nil, {Token: "a b"}, {Token: "a", Insecure: true}} {
		_, err := filehttp.NewHandler(nil, opts)
		require.ErrorIs(t, err, procmgr.ErrInvalid)
	}
}

// Authorize decides over each request.
func TestAuthorize(t *testing.T) {
	t.Parallel()
	handler := newHandler(t, t.TempDir(), filehttp.HandlerOptions{Authorize: func(r *http.Request) error {
		if r.URL.Path != "/read" {
			return errors.New("read only")
		}
		return nil
	}})
	client := newClient(t, serve(t, handler), nil)
	_, err := client.Read(t.Context(), procfile.ReadRequest{Path: "x"})
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = client.Write(t.Context(), procfile.WriteRequest{Path: "x", Content: "y"})
	require.ErrorIs(t, err, procmgr.ErrRefused)
}

// A write whose answer is lost is done once at most, and unknown; a read is only an error.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var asked atomic.Int32
	handler := newHandler(t, dir, filehttp.HandlerOptions{Insecure: true})
	client := newClient(t, serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		handler.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	})), nil)
	_, err := client.Write(t.Context(), procfile.WriteRequest{Path: "x", Content: "a\n"})
	require.ErrorIs(t, err, procmgr.ErrUnknown)
	_, err = client.Edit(t.Context(), procfile.EditRequest{Files: []procfile.FileEdit{{Path: "x", Edits: []procfile.Edit{{Search: "a", Replace: "aa"}}}}})
	require.ErrorIs(t, err, procmgr.ErrUnknown)
	require.EqualValues(t, 2, asked.Load())
	data, err := os.ReadFile(filepath.Join(dir, "x"))
	require.NoError(t, err)
	require.Equal(t, "aa\n", string(data))
	_, err = client.Read(t.Context(), procfile.ReadRequest{Path: "x"})
	require.ErrorContains(t, err, "the server cannot be reached")
	require.NotErrorIs(t, err, procmgr.ErrUnknown)
}

// Without a server nothing was written. If something in between answers for it, that is
// unknown.
func TestNoServer(t *testing.T) {
	t.Parallel()
	req := procfile.WriteRequest{Path: "x", Content: "a\n"}
	server := httptest.NewServer(newHandler(t, t.TempDir(), filehttp.HandlerOptions{Insecure: true}))
	client := newClient(t, server.URL, nil)
	_, err := client.Write(t.Context(), req)
	require.NoError(t, err)
	server.Close()
	require.NoError(t, client.Close()) // no idle connection is left
	_, err = client.Write(t.Context(), req)
	require.ErrorContains(t, err, "the server cannot be reached")
	require.NotErrorIs(t, err, procmgr.ErrUnknown)

	between := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	_, err = newClient(t, between, nil).Write(t.Context(), req)
	require.ErrorIs(t, err, procmgr.ErrUnknown)
	require.ErrorContains(t, err, "502 Bad Gateway")
}

// A server of something else is named as that.
func TestNoFiles(t *testing.T) {
	t.Parallel()
	client := newClient(t, serve(t, http.NotFoundHandler()), nil)
	_, err := client.Read(t.Context(), procfile.ReadRequest{Path: "x"})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	_, err = client.Write(t.Context(), procfile.WriteRequest{Path: "x", Content: "a"})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	for _, url := range []string{"ftp://x", "http://user:pass@x", "unix://x", "http://x?y", "\x00"} {
		_, err := filehttp.NewClient(url, nil)
		require.ErrorIs(t, err, procmgr.ErrInvalid, url)
	}
}
