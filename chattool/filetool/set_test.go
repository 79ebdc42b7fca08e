package filetool_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/filetool"
	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

func newSet(t *testing.T, opts *filetool.Options) (*filetool.Set, string) {
	t.Helper()
	dir := t.TempDir()
	files, err := filetool.NewLocal(&filetool.LocalOptions{Root: dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	return filetool.New(files, opts), dir
}

// call makes a call, and returns the result and its object.
func call(t *testing.T, s *filetool.Set, name, arguments string) (filetool.Result, map[string]any) {
	t.Helper()
	res := s.Call(t.Context(), filetool.Call{Name: name, Arguments: json.RawMessage(arguments)})
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(res.Content), &got))
	require.Equal(t, got["success"], res.Report.Success)
	return res, got
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}

func content(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(data)
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	s, dir := newSet(t, nil)
	write(t, dir, "f", strings.Repeat("line\n", 3000))
	_, got := call(t, s, "read_file", `{"path":"f","offset":2,"limit":2}`)
	require.Equal(t, "2\tline\n3\tline\n", got["output"])
	require.EqualValues(t, 3000, got["lines"])
	require.EqualValues(t, 4, got["next_offset"])
	require.Contains(t, got["note"], `read_file {"path":"f","offset":4}`)
	_, got = call(t, s, "read_file", `{"path":"f","offset":"-1"}`)
	require.Equal(t, "3000\tline\n", got["output"])
	require.NotContains(t, got, "next_offset")
	res, got := call(t, s, "read_file", `{"path":"f"}`)
	require.Len(t, res.Report.Read.Lines, 2000)
	require.EqualValues(t, 2001, got["next_offset"])

	res, got = call(t, s, "read_file", `{"path":"f","max_output":"1k"}`)
	require.LessOrEqual(t, len(res.Content), 2000)
	require.Greater(t, len(res.Content), 1800)
	require.EqualValues(t, len(res.Report.Read.Lines)+1, got["next_offset"])
	require.True(t, strings.HasSuffix(got["output"].(string), "line\n"))

	res, got = call(t, s, "read_file", `{"path":"g"}`)
	require.True(t, res.IsError)
	require.Contains(t, got["error"], "nothing was read: there is no file g in ")
	res, _ = call(t, s, "read_file", `{"file_path":"g"}`)
	require.Contains(t, res.Content, `it is called \"path\"`)
}

func TestLimit(t *testing.T) {
	t.Parallel()
	s, dir := newSet(t, &filetool.Options{Limit: headtail.Limits{Bytes: 1000}, CountTokens: func(text string) int { return len(text) / 4 }})
	write(t, dir, "f", strings.Repeat("line\n", 3000))
	res, _ := call(t, s, "read_file", `{"path":"f"}`)
	require.LessOrEqual(t, len(res.Content), 1000)
	res, _ = call(t, s, "read_file", `{"path":"f","max_output":150}`)
	require.LessOrEqual(t, len(res.Content)/4, 150)
	write(t, dir, "f", "x\n")
	res, _ = call(t, s, "read_file", `{"path":"f"}`)
	require.Equal(t, `{"success":true,"output":"1\tx\n","lines":1,"size":2}`, res.Content)
}

// What has changed since the Set read it is refused with the difference, by every
// name of the file; the same call again is done.
func TestChanged(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]struct{ tool, arguments, want string }{
		"write": {"write_file", `{"path":"%","content":"new\n"}`, "new\n"},
		"edit":  {"edit_files", `{"files":[{"path":"%","edits":[{"search":"c","replace":"C"}]}]}`, "a\nX\nb\nC\n"},
	} {
		for _, path := range []string{"d/f", "./d/../d/f", "link/f"} {
			t.Run(name+" "+path, func(t *testing.T) {
				t.Parallel()
				s, dir := newSet(t, nil)
				require.NoError(t, os.Mkdir(filepath.Join(dir, "d"), 0o700))
				err := os.Symlink("d", filepath.Join(dir, "link"))
				if err == nil {
					_, err = os.Readlink(filepath.Join(dir, "link"))
				}
				if err != nil { // no links here
					require.Equal(t, "windows", runtime.GOOS, "%v", err)
					path = strings.ReplaceAll(path, "link/", "d/")
				}
				write(t, dir, "d/f", "a\nb\nc\n")
				call(t, s, "read_file", `{"path":"d/f"}`)
				write(t, dir, "d/f", "a\nX\nb\nc\n")
				arguments := strings.ReplaceAll(edit.arguments, "%", path)
				res, got := call(t, s, edit.tool, arguments)
				require.True(t, res.IsError)
				require.Contains(t, got["error"], "a file has changed since you read it")
				require.Contains(t, got["output"], string(filepath.Separator)+"f\n+2\tX\n")
				require.NotContains(t, got["output"], "\n-")
				require.Equal(t, "a\nX\nb\nc\n", content(t, dir, "d/f"))
				res, _ = call(t, s, edit.tool, arguments)
				require.False(t, res.IsError, res.Content)
				require.Equal(t, edit.want, content(t, dir, "d/f"))
				// What the Set has written itself is no change.
				res, _ = call(t, s, "write_file", `{"path":"d/f","content":"again\n"}`)
				require.False(t, res.IsError, res.Content)
			})
		}
	}
}

// A file that is gone can be made anew.
func TestDeleted(t *testing.T) {
	t.Parallel()
	s, dir := newSet(t, nil)
	write(t, dir, "f", "a\n")
	call(t, s, "read_file", `{"path":"f"}`)
	require.NoError(t, os.Remove(filepath.Join(dir, "f")))
	res, got := call(t, s, "write_file", `{"path":"f","content":"b\n"}`)
	require.True(t, res.IsError)
	require.Contains(t, got["error"], "was deleted")
	res, _ = call(t, s, "write_file", `{"path":"f","content":"b\n"}`)
	require.False(t, res.IsError, res.Content)
	require.Equal(t, "b\n", content(t, dir, "f"))
}

func TestEditFiles(t *testing.T) {
	t.Parallel()
	s, dir := newSet(t, nil)
	write(t, dir, "f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n")
	res, got := call(t, s, "edit_files", `{"files":[{"path":"f","edits":[{"search":"3\n","replace":"three\n"},{"search":"11","replace":"eleven"}]}]}`)
	require.False(t, res.IsError)
	require.True(t, strings.HasSuffix(got["output"].(string), string(filepath.Separator)+"f\n1\t1\n2\t2\n3\tthree\n4\t4\n5\t5\n...\n9\t9\n10\t10\n11\televen\n12\t12\n"), got["output"])
	require.EqualValues(t, 2, got["places"])
	// One object for a list, and the list as a string, are clear enough.
	res, _ = call(t, s, "edit_files", `{"files":{"path":"f","edits":"[{\"search\":\"12\",\"replace\":\"twelve\"}]"}}`)
	require.False(t, res.IsError, res.Content)
	_, got = call(t, s, "edit_files", `{"files":[{"path":"f","edits":[{"search":"nowhere at all","replace":"x"}]}]}`)
	require.Contains(t, got["error"], "nothing was edited: ")
}

func TestApprove(t *testing.T) {
	t.Parallel()
	var asked []toolset.Question
	verdict, failure := toolset.Verdict{}, error(nil)
	s, dir := newSet(t, &filetool.Options{Names: map[string]string{"read_file": "view"}, Approve: func(_ context.Context, q toolset.Question) (toolset.Verdict, error) {
		asked = append(asked, q)
		return verdict, failure
	}})
	require.Equal(t, "view", s.ReadFileTool())
	require.Equal(t, "view", s.Definitions()[0].Name)
	res, _ := call(t, s, "write_file", `{"path":"f","content":"x"}`)
	require.False(t, res.IsError)
	require.Equal(t, "f", asked[0].Facts.Writes[0].Path)
	require.Empty(t, asked[0].Facts.Reads)
	require.True(t, asked[0].Facts.Complete)
	call(t, s, "view", `{"path":"f"}`)
	require.Equal(t, "f", asked[1].Facts.Reads[0].Path)
	verdict = toolset.Verdict{Deny: true, Reason: "f is not yours"}
	res, got := call(t, s, "write_file", `{"path":"f","content":"y"}`)
	require.False(t, res.IsError)
	require.Equal(t, true, got["denied"])
	require.Equal(t, "denied: f is not yours. Nothing was written: do not look for a way around it; tell the user if the task needs it", got["error"])
	verdict, failure = toolset.Verdict{}, errors.New("nobody is there")
	_, got = call(t, s, "edit_files", `{"files":[{"path":"f","edits":[{"search":"x","replace":"y"}]}]}`)
	require.Contains(t, got["error"], "it could not be decided: nobody is there")
	require.Equal(t, "x", content(t, dir, "f"))
}

func TestSetUpWrongly(t *testing.T) {
	t.Parallel()
	s, _ := newSet(t, &filetool.Options{Names: map[string]string{"cat": "view"}})
	res, _ := call(t, s, "read_file", `{"path":"f"}`)
	require.Contains(t, res.Content, "filetool.Options.Names cannot be used")
	res, _ = call(t, filetool.New(nil, nil), "read_file", `{"path":"f"}`)
	require.True(t, res.IsError)
	s, _ = newSet(t, nil)
	res, _ = call(t, s, "execute", `{}`)
	require.Contains(t, res.Content, "the tools are read_file, write_file, edit_files")
}

// The tools do the same with the files of another machine.
func TestRemote(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files, err := filetool.NewLocal(&filetool.LocalOptions{Root: dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	handler, err := prochttp.NewHandler(noHost{}, &prochttp.HandlerOptions{Insecure: true, Files: files})
	require.NoError(t, err)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := prochttp.NewClient(server.URL, nil)
	require.NoError(t, err)
	here, there := filetool.New(files, nil), filetool.New(client, nil)
	for _, c := range []struct{ name, arguments string }{
		{"read_file", `{"path":"none"}`},
		{"write_file", `{"path":"f","content":"a\n"}`},
		{"read_file", `{"path":"f"}`},
		{"read_file", `{"path":"/etc/passwd"}`},
		{"edit_files", `{"files":[{"path":"f","edits":[{"search":"q","replace":"b"}]}]}`},
		{"edit_files", `{"files":[{"path":"f","edits":[{"search":"a","replace":"b"}]}]}`},
	} {
		_ = os.Remove(filepath.Join(dir, "f")) // there may be none
		if c.name != "write_file" {
			write(t, dir, "f", "a\n")
		}
		want, _ := call(t, here, c.name, c.arguments)
		_ = os.Remove(filepath.Join(dir, "f")) // the same
		if c.name != "write_file" {
			write(t, dir, "f", "a\n")
		}
		got, _ := call(t, there, c.name, c.arguments)
		require.Equal(t, want.Content, got.Content, c.name)
		here, there = filetool.New(files, nil), filetool.New(client, nil)
	}
}

type noHost struct{ procmgr.Unsupported }

func (noHost) Chat(string) procmgr.Manager { return procmgr.Unsupported{} }
