package filetool_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/filetool"
	"github.com/toolproc/toolproc/contrib/filetool/procfile"
)

func newSet(t *testing.T, opts *filetool.Options) (*filetool.Set, string) {
	t.Helper()
	dir := t.TempDir()
	files, err := procfile.NewLocal(&procfile.LocalOptions{Root: dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	return filetool.New(files, opts), dir
}

// call makes a call, and returns the result and its object.
func call(t *testing.T, s *filetool.Set, name, arguments string) (toolset.Result, map[string]any) {
	t.Helper()
	res := s.Call(t.Context(), toolset.Call{Name: name, Arguments: json.RawMessage(arguments)})
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
	require.Equal(t, 2000, strings.Count(*res.Report.Output, "\n"))
	require.EqualValues(t, 2001, got["next_offset"])

	res, got = call(t, s, "read_file", `{"path":"g"}`)
	require.True(t, res.IsError)
	require.Contains(t, got["error"], "nothing was read: there is no file g in ")
	res, _ = call(t, s, "read_file", `{"file_path":"g"}`)
	require.Contains(t, res.Content, `it is called \"path\"`)
}

// Shapes that models know from elsewhere are answered with the right one, which works.
func TestOtherShapes(t *testing.T) {
	t.Parallel()
	s, dir := newSet(t, nil)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "src"), 0o700))
	for _, tt := range []struct{ tool, arguments string }{
		{"read_file", `{"file_path":"f"}`},
		{"read_file", `{"path":"f","view_range":[10,20]}`},
		{"read_file", `{"path":"f","start_line":10,"end_line":20}`},
		{"write_file", `{"file_path":"f","file_text":"x"}`},
		{"edit_files", `{"file_path":"f","old_string":"a","new_string":"b"}`},
		{"edit_files", `{"path":"f","edits":[{"old_text":"a","new_text":"b"}]}`},
		{"edit_files", `{"command":"str_replace","path":"f","old_str":"a","new_str":"b"}`},
		{"edit_files", `{"files":[{"path":"f","old_string":"a","new_string":"b"}]}`},
	} {
		write(t, dir, "src/main.go", strings.Repeat("\n", 150)+"old text\n")
		call(t, s, "read_file", `{"path":"src/main.go"}`)
		res, got := call(t, s, tt.tool, tt.arguments)
		require.True(t, res.IsError)
		_, example, ok := strings.Cut(got["error"].(string), "; for example ")
		require.True(t, ok, got["error"])
		res, _ = call(t, s, tt.tool, example)
		require.False(t, res.IsError, res.Content)
	}
}

// What has changed since the Set read it is refused, by every name of the file; the same
// call is done after it was read again.
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
				if err := os.Symlink("d", filepath.Join(dir, "link")); err != nil && strings.HasPrefix(path, "link/") {
					t.Skip("no links here: ", err)
				}
				write(t, dir, "d/f", "a\nb\nc\n")
				call(t, s, "read_file", `{"path":"d/f"}`)
				write(t, dir, "d/f", "a\nX\nb\nc\n")
				arguments := strings.ReplaceAll(edit.arguments, "%", path)
				res, got := call(t, s, edit.tool, arguments)
				require.True(t, res.IsError)
				require.Contains(t, got["error"], "a file has changed since you read it")
				res, _ = call(t, s, "write_file", `{"path":"d/f","content":"x\n"}`)
				require.True(t, res.IsError, "it has not been read again")
				require.Equal(t, "a\nX\nb\nc\n", content(t, dir, "d/f"))
				call(t, s, "read_file", `{"path":"d/f"}`)
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

// A file is replaced by a chat that has seen all of it, or that says so.
func TestUnseen(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("line\n", 500)
	for name, tt := range map[string]struct {
		before string
		calls  []string // of read_file
		may    bool
	}{
		"never read":       {long, nil, false},
		"empty":            {"", nil, true},
		"the beginning":    {long, []string{`{"path":"f","limit":50}`}, false},
		"not the end":      {long, []string{`{"path":"f","limit":499}`}, false},
		"whole":            {long, []string{`{"path":"f"}`}, true},
		"in parts":         {long, []string{`{"path":"f","limit":250}`, `{"path":"f","offset":240,"limit":200}`, `{"path":"f","offset":-100}`}, true},
		"a long line":      {strings.Repeat("x", 2000) + "\n", []string{`{"path":"f"}`}, false},
		"bytes":            {"caf\xe9\n", []string{`{"path":"f"}`}, false},
		"by another name":  {long, []string{`{"path":"./d/../f"}`}, true},
		"binary":           {"a\x00b", nil, false},
		"other file":       {long, []string{`{"path":"g"}`}, false},
		"many small parts": {strings.Repeat("line\n", 40), []string{`{"path":"f","limit":15}`, `{"path":"f","offset":16,"limit":15}`, `{"path":"f","offset":31}`}, true},
		"the end first":    {long, []string{`{"path":"f","offset":-250}`, `{"path":"f","limit":250}`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := newSet(t, nil)
			require.NoError(t, os.Mkdir(filepath.Join(dir, "d"), 0o700))
			write(t, dir, "f", tt.before)
			write(t, dir, "g", "other\n")
			for _, arguments := range tt.calls {
				res, _ := call(t, s, "read_file", arguments)
				require.False(t, res.IsError, res.Content)
			}
			res, got := call(t, s, "write_file", `{"path":"f","content":"new\n"}`)
			require.Equal(t, !tt.may, res.IsError, res.Content)
			if !tt.may {
				require.Contains(t, got["error"], "set overwrite")
				require.Equal(t, tt.before, content(t, dir, "f"))
				res, _ = call(t, s, "write_file", `{"path":"f","content":"new\n","overwrite":true}`)
				require.False(t, res.IsError, res.Content)
			}
			require.Equal(t, "new\n", content(t, dir, "f"))
			// What the chat has written itself it knows, also after an edit.
			res, _ = call(t, s, "edit_files", `{"files":[{"path":"f","edits":[{"search":"new","replace":"newer"}]}]}`)
			require.False(t, res.IsError, res.Content)
			res, _ = call(t, s, "write_file", `{"path":"f","content":"newest\n"}`)
			require.False(t, res.IsError, res.Content)
		})
	}
}

// The lines around an edit are known, and no others.
func TestUnseenAroundEdit(t *testing.T) {
	t.Parallel()
	for lines, may := range map[int]bool{2: true, 3: false} {
		s, dir := newSet(t, nil)
		write(t, dir, "f", strings.Repeat("x\n", lines)+"b\n")
		res, _ := call(t, s, "edit_files", `{"files":[{"path":"f","edits":[{"search":"b","replace":"B"}]}]}`)
		require.False(t, res.IsError, res.Content)
		res, _ = call(t, s, "write_file", `{"path":"f","content":"new\n"}`)
		require.Equal(t, !may, res.IsError, res.Content)
	}
}

// The line ends of a file stay, and the model is told; so is what was replaced.
func TestWriteTells(t *testing.T) {
	t.Parallel()
	s, dir := newSet(t, nil)
	write(t, dir, "f", "a\r\nb\r\n")
	call(t, s, "read_file", `{"path":"f"}`)
	_, got := call(t, s, "write_file", `{"path":"f","content":"a\nc\nd\n"}`)
	require.Equal(t, "a\r\nc\r\nd\r\n", content(t, dir, "f"))
	require.Equal(t, "crlf", got["line_ends"])
	require.Contains(t, got["note"], "It replaced a file of 2 lines")
	require.Contains(t, got["note"], `keeps its line ends, \r\n`)
	_, got = call(t, s, "write_file", `{"path":"f","content":"\ufeffa\n"}`)
	require.Equal(t, "utf-8-bom", got["encoding"])
	require.NotContains(t, got["note"], "keeps its encoding", "it had no byte order mark")
	write(t, dir, "g", "a\r\nb\n")
	call(t, s, "read_file", `{"path":"g"}`)
	_, got = call(t, s, "write_file", `{"path":"g","content":"a\nc\n"}`)
	require.Contains(t, got["note"], "line ends were mixed and are lf now")
	if runtime.GOOS != "windows" {
		require.NoError(t, os.Link(filepath.Join(dir, "g"), filepath.Join(dir, "h")))
		_, got = call(t, s, "edit_files", `{"files":[{"path":"g","edits":[{"search":"a","replace":"b"}]}]}`)
		require.Contains(t, got["note"], "without its 1 further hard link")
	}
	require.NoError(t, os.Truncate(filepath.Join(dir, "f"), 300<<20))
	_, got = call(t, s, "write_file", `{"path":"f","content":"x\n","overwrite":true}`)
	require.Contains(t, got["note"], "It replaced a file of 314572800 bytes")
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
	_, got = call(t, s, "edit_files", `{"files":[{"path":"f","edits":[{"search":"10\n  eleven\ntwelf","replace":"x"}]}]}`)
	require.Contains(t, got["error"], "nothing was edited: ")
	require.Contains(t, got["error"], `line 11 has "eleven" where search has "  eleven" (only tabs and spaces differ); line 12 has "twelve" where search has "twelf"`)
	// The longest line is there twice, and another one says which is meant.
	write(t, dir, "g", "if a {\n  return failed(err)\n}\nif b {\n  return failed(err)\n}\n")
	_, got = call(t, s, "edit_files", `{"files":[{"path":"g","edits":[{"search":"if b {\n  return failed(err)\n]","replace":"x"}]}]}`)
	require.Contains(t, got["error"], `search is not there; line 6 has "}" where search has "]"`)
}

func TestApprove(t *testing.T) {
	t.Parallel()
	var asked []filetool.Question
	verdict, failure := toolset.Verdict{}, error(nil)
	s, dir := newSet(t, &filetool.Options{Names: map[string]string{"read_file": "view"}, Approve: func(_ context.Context, q filetool.Question) (toolset.Verdict, error) {
		asked = append(asked, q)
		return verdict, failure
	}})
	require.Equal(t, "view", s.FileTools().Read)
	require.Equal(t, `view {"path":"f","offset":-20}`, s.FileTools().ReadCall("f", -20))
	require.Equal(t, "view", s.Definitions()[0].Name)
	res, _ := call(t, s, "write_file", `{"path":"f","content":"x"}`)
	require.False(t, res.IsError)
	require.Equal(t, "f", asked[0].Writes[0])
	require.Empty(t, asked[0].Reads)
	call(t, s, "view", `{"path":"f"}`)
	require.Equal(t, "f", asked[1].Reads[0])
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

// A trace and a page get the calls for files as those for commands.
func TestIntercept(t *testing.T) {
	t.Parallel()
	type next = func(context.Context) toolset.Result
	type key struct{}
	var told []toolset.Result
	carried := 0
	try := func(intercept func(context.Context, toolset.Call, next) toolset.Result) toolset.Result {
		told, carried = nil, 0
		s, dir := newSet(t, &filetool.Options{Intercept: intercept, OnResult: func(ctx context.Context, c toolset.Call, r toolset.Result) {
			require.Equal(t, "edit_files", c.Name)
			require.Equal(t, "a span", ctx.Value(key{}))
			told = append(told, r)
			panic("none of the model's business")
		}})
		write(t, dir, "f", "a\n")
		res := s.Call(t.Context(), toolset.Call{Name: "edit_files", Arguments: json.RawMessage(`{"files":[{"path":"f","edits":[{"search":"a","replace":"aa"}]}]}`)})
		carried = strings.Count(content(t, dir, "f"), "a") - 1
		return res
	}
	span := func(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, "a span") }
	res := try(func(ctx context.Context, _ toolset.Call, n next) toolset.Result {
		require.Equal(t, n(span(ctx)), n(ctx))
		return n(ctx)
	})
	require.Equal(t, 1, carried)
	require.Len(t, told, 1)
	require.Equal(t, res.Content, told[0].Content)
	require.True(t, told[0].Report.Success)
	res = try(func(context.Context, toolset.Call, next) toolset.Result {
		return toolset.Result{Content: "no", IsError: true}
	})
	require.Zero(t, carried)
	require.Equal(t, toolset.Result{Content: "no", IsError: true}, res)
	res = try(func(ctx context.Context, _ toolset.Call, n next) toolset.Result { n(span(ctx)); panic("behind") })
	require.Equal(t, 1, carried)
	require.False(t, res.IsError, res.Content)
	res = try(func(context.Context, toolset.Call, next) toolset.Result { panic("before") })
	require.Zero(t, carried)
	require.True(t, res.IsError)
	require.Contains(t, res.Content, "before")
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
