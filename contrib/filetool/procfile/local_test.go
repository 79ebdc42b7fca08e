package procfile_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/filetool/procfile"
	"github.com/toolproc/toolproc/procmgr"
)

var errInvalid = procmgr.ErrInvalid

// 24 callers, of two Locals, count in one file: no edit is lost.
func TestManyCallers(t *testing.T) {
	t.Parallel()
	a, dir := newLocal(t)
	b, err := procfile.NewLocal(&procfile.LocalOptions{Root: dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	locals := []*procfile.Local{a, b}
	if runtime.GOOS == "windows" {
		locals[1] = a // no directory can be locked there
	}
	name := filepath.Join(dir, "f")
	var lines strings.Builder
	const callers, edits = 24, 5
	for n := range callers {
		fmt.Fprintf(&lines, "<%d> 0\n", n)
	}
	require.NoError(t, os.WriteFile(name, []byte(lines.String()), 0o600))
	var all sync.WaitGroup
	errs := make([]error, callers)
	for n := range callers {
		all.Go(func() {
			for k := range edits {
				l := locals[n%2]
				_, err := l.Edit(t.Context(), procfile.EditRequest{Files: []procfile.FileEdit{{Path: "f", Edits: []procfile.Edit{{
					Search: fmt.Sprintf("<%d> %d", n, k), Replace: fmt.Sprintf("<%d> %d", n, k+1),
				}}}}})
				if err != nil {
					errs[n] = err
					return
				}
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, strings.ReplaceAll(lines.String(), " 0\n", " "+strconv.Itoa(edits)+"\n"), string(data))
}

// Several files: all are edited or none.
func TestAllOrNone(t *testing.T) {
	t.Parallel()
	l, dir := newLocal(t)
	for _, name := range []string{"a", "b"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(name+"\n"), 0o600))
	}
	edit := func(path, search string) procfile.FileEdit {
		return procfile.FileEdit{Path: path, Edits: []procfile.Edit{{Search: search, Replace: "x"}}}
	}
	_, err := l.Edit(t.Context(), procfile.EditRequest{Files: []procfile.FileEdit{edit("a", "a"), edit("b", "q")}})
	require.ErrorIs(t, err, procfile.ErrNoPlace)
	require.Contains(t, procfile.Reason(err), filepath.Join(dir, "b"))
	data, err := os.ReadFile(filepath.Join(dir, "a"))
	require.NoError(t, err)
	require.Equal(t, "a\n", string(data))
	res, err := l.Edit(t.Context(), procfile.EditRequest{Files: []procfile.FileEdit{edit("a", "a"), edit("b", "b")}})
	require.NoError(t, err)
	require.Len(t, res.Files, 2)
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, names, 2)
}

// Edits that change nothing are not told as done.
func TestEditOfNothing(t *testing.T) {
	t.Parallel()
	l, dir := newLocal(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("a\r\n"), 0o600))
	for _, edits := range [][]procfile.Edit{
		{{Search: "a", Replace: "b"}, {Search: "b", Replace: "a"}},
		{{Search: "a\n", Replace: "a\r\n"}},
	} {
		_, err := l.Edit(t.Context(), procfile.EditRequest{Files: []procfile.FileEdit{{Path: "f", Edits: edits}}})
		require.ErrorIs(t, err, procmgr.ErrInvalid)
		require.ErrorContains(t, err, "would change nothing")
	}
}

// Mode and link stay, and the file that the link leads to is written.
func TestWriteKeeps(t *testing.T) {
	t.Parallel()
	l, dir := newLocal(t)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "d"), 0o700))
	file := filepath.Join(dir, "d", "f")
	require.NoError(t, os.WriteFile(file, []byte("\xef\xbb\xbfa"), 0o600))
	require.NoError(t, os.Chmod(file, 0o751))
	link(t, "d/f", filepath.Join(dir, "link"))
	res, err := l.Write(t.Context(), procfile.WriteRequest{Path: "link", Content: "b\n"})
	require.NoError(t, err)
	require.Equal(t, "f", filepath.Base(res.Path))
	info, err := os.Lstat(filepath.Join(dir, "link"))
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "\xef\xbb\xbfb\n", string(data), "the byte order mark stays")
	info, err = os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o751).String(), info.Mode().String())
}

// Lines from any of them on, and each kind of failure in its own words.
func TestRead(t *testing.T) {
	t.Parallel()
	l, dir := newLocal(t)
	var b strings.Builder
	for n := range 5000 {
		fmt.Fprintf(&b, "line %d\n", n+1)
	}
	long := strings.Repeat("é", 1000)
	for name, text := range map[string]string{"many": b.String(), "long": "a\n" + long + "\nb", "bin": "a\x00b", "empty": "", "config.yaml": "x\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	read := func(path string, offset int64, limit int) procfile.ReadResult {
		res, err := l.Read(t.Context(), procfile.ReadRequest{Path: path, Offset: offset, Limit: limit})
		require.NoError(t, err)
		return res
	}
	res := read("many", 0, 0)
	require.Len(t, res.Lines, 2000)
	require.EqualValues(t, 5000, res.Total)
	require.EqualValues(t, b.Len(), res.Size)
	res = read("many", -2, 0)
	require.EqualValues(t, 4999, res.From)
	require.Equal(t, []procfile.Line{{Text: "line 4999"}, {Text: "line 5000"}}, res.Lines)
	res = read("many", 4000, 1)
	require.Equal(t, []procfile.Line{{Text: "line 4000"}}, res.Lines)
	res = read("long", 0, 0)
	require.Equal(t, strings.Repeat("é", 512), res.Lines[1].Text)
	require.EqualValues(t, 976, res.Lines[1].Cut)
	require.True(t, res.Unended)
	require.Empty(t, read("empty", 0, 0).Lines)

	for path, want := range map[string]string{
		"bin": "is binary", ".": "is a directory", "confg.yml": "there is no file confg.yml in ", "no/such": "no directory no",
	} {
		_, err := l.Read(t.Context(), procfile.ReadRequest{Path: path})
		require.ErrorContains(t, err, want)
	}
	_, err := l.Read(t.Context(), procfile.ReadRequest{Path: "many", Offset: 6000})
	require.ErrorContains(t, err, "has 5000 lines")
}

// The value of a secret is masked, and the words in its place are not written.
func TestRedact(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const value = "k7Qv2mZp4a9XtR1bW8sE"
	l, err := procfile.NewLocal(&procfile.LocalOptions{Root: dir, Redact: []procfile.Secret{{Name: "TOKEN", Value: value}}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte("a="+value+"\nb=1\n"), 0o600))
	res, err := l.Read(t.Context(), procfile.ReadRequest{Path: "f"})
	require.NoError(t, err)
	require.Equal(t, "a=[withheld: TOKEN]", res.Lines[0].Text)
	require.Equal(t, []string{"TOKEN"}, res.Redacted)
	_, err = l.Write(t.Context(), procfile.WriteRequest{Path: "f", Content: "a=[withheld: TOKEN]\nb=2\n"})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	edited, err := l.Edit(t.Context(), procfile.EditRequest{Files: []procfile.FileEdit{{Path: "f", Edits: []procfile.Edit{{Search: "b=1", Replace: "b=2"}}}}})
	require.NoError(t, err)
	require.NotContains(t, fmt.Sprint(edited), value)
	_, err = l.Edit(t.Context(), procfile.EditRequest{Files: []procfile.FileEdit{{Path: "f", Edits: []procfile.Edit{{Search: "a=" + value[:10] + "x", Replace: ""}}}}})
	require.Error(t, err)
	require.NotContains(t, err.Error(), value)
}

// Of this program's environment, the values that commands do not get are masked, as they
// are and in no other form.
func TestRedactEnvironment(t *testing.T) {
	const value = "k7Qv2mZp4a9XtR1bW8sE"
	t.Setenv("DEPLOY_TOKEN", value)
	t.Setenv("SIGNING_KEY", "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\n-----END KEY-----\n")
	t.Setenv("SHORT_TOKEN", "k7Qv2mZp")
	t.Setenv("RELEASE", "2025-11-27-candidate")
	l, dir := newLocal(t)
	text := "a " + value + " b\nMIIEvQIBADANBgkqhkiG9w0\nk7Qv2mZp\n2025-11-27-candidate\n" + base64.StdEncoding.EncodeToString([]byte(value)) + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte(text), 0o600))
	res, err := l.Read(t.Context(), procfile.ReadRequest{Path: "f"})
	require.NoError(t, err)
	require.Equal(t, []string{"DEPLOY_TOKEN", "SIGNING_KEY"}, res.Redacted)
	require.Equal(t, "a [withheld: DEPLOY_TOKEN] b", res.Lines[0].Text)
	require.Equal(t, "[withheld: SIGNING_KEY]", res.Lines[1].Text)
	for _, line := range res.Lines[2:] {
		require.NotContains(t, line.Text, "withheld")
	}
	_, err = procfile.NewLocal(&procfile.LocalOptions{Redact: []procfile.Secret{{Name: "X", Value: "abc"}}})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
}

// The words for the rest of a long line, and U+FFFD for a byte, are not written in their
// place.
func TestMarksAreNotText(t *testing.T) {
	t.Parallel()
	l, dir := newLocal(t)
	long := strings.Repeat("x", 3000)
	for name, text := range map[string]string{"long": "a\n" + long + "\nb\n", "bytes": "caf\xe9\nb\n", "is": "a \ufffd … [7 bytes more]\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		res, err := l.Read(t.Context(), procfile.ReadRequest{Path: name})
		require.NoError(t, err)
		var shown strings.Builder
		for _, line := range res.Lines {
			shown.WriteString(line.String() + "\n")
		}
		shown.WriteString("more\n")
		_, err = l.Write(t.Context(), procfile.WriteRequest{Path: name, Content: shown.String()})
		data, rerr := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, rerr)
		if name == "is" { // the file itself has these words
			require.NoError(t, err)
			require.Equal(t, text+"more\n", string(data))
			continue
		}
		require.ErrorIs(t, err, procmgr.ErrInvalid, name)
		require.Equal(t, text, string(data))
	}
	_, err := l.Edit(t.Context(), procfile.EditRequest{Files: []procfile.FileEdit{{Path: "long", Edits: []procfile.Edit{{Search: "b", Replace: "x… [1976 bytes more]"}}}}})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	_, err = l.Edit(t.Context(), procfile.EditRequest{Files: []procfile.FileEdit{{Path: "bytes", Edits: []procfile.Edit{{Search: "b", Replace: "caf\ufffd"}}}}})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	_, err = l.Write(t.Context(), procfile.WriteRequest{Path: "new", Content: "\ufffd\n"})
	require.NoError(t, err, "where no byte is lost, it is a character like others")
}

// The line ends of a file stay, as its encoding does.
func TestWriteKeepsLineEnds(t *testing.T) {
	t.Parallel()
	l, dir := newLocal(t)
	for _, tt := range []struct{ name, before, content, want string }{
		{"dos", "a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n"},
		{"given", "a\r\nb\r\n", "a\r\nc\r\n", "a\r\nc\r\n"},
		{"unix", "a\n", "a\r\nc\n", "a\r\nc\n"},
		{"mixed", "a\r\nb\n", "c\nd\n", "c\nd\n"},
		{"mark", "\xef\xbb\xbfa\r\n", "b\n", "\xef\xbb\xbfb\r\n"},
		{"long", strings.Repeat("a\r\n", procfile.MaxEdit), "b\n", "b\r\n"},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, tt.name), []byte(tt.before), 0o600))
		res, err := l.Write(t.Context(), procfile.WriteRequest{Path: tt.name, Content: tt.content})
		require.NoError(t, err)
		data, err := os.ReadFile(filepath.Join(dir, tt.name))
		require.NoError(t, err)
		require.Equal(t, tt.want, string(data), tt.name)
		require.EqualValues(t, len(tt.before), res.Before.Size)
	}
}

// link makes a symbolic link. It skips the test on a Windows that has none.
func link(t *testing.T, to, name string) {
	t.Helper()
	err := os.Symlink(filepath.FromSlash(to), name)
	if err != nil && runtime.GOOS == "windows" {
		t.Skip("no links here: ", err)
	}
	require.NoError(t, err)
}

// The rules of a sandbox hold for files as for commands.
func TestSandboxRules(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"w/.git/hooks/pre", "w/.git/config", "w/.git/other", "w/f", "home/key", "home/work/f", "f"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(path(name)), 0o700))
		require.NoError(t, os.WriteFile(path(name), []byte("old\n"), 0o600))
	}
	link(t, "../home", path("w/link"))
	link(t, ".git/hooks", path("w/hooks"))
	l, err := procfile.NewLocal(&procfile.LocalOptions{Dir: dir, Sandbox: &procmgr.SandboxRules{
		Write:   []string{path("w"), path("home/work")},
		Protect: []string{path("w/.git/hooks"), path("w/.git/config")},
		Hide:    []string{path("home")},
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	for name, may := range map[string]string{
		"w/f": "rw", "w/.git/other": "rw", "home/work/f": "rw", "f": "r",
		"w/.git/hooks/pre": "r", "w/hooks/pre": "r", "w/.git/config": "r",
		"home/key": "", "w/link/key": "", "w/../home/key": "", "home/none": "", "home": "",
		"w/link/work/f": "rw",
	} {
		_, err := l.Read(t.Context(), procfile.ReadRequest{Path: name})
		require.Equal(t, may == "", errors.Is(err, procmgr.ErrRefused), "read %s: %v", name, err)
		_, err = l.Edit(t.Context(), procfile.EditRequest{Files: []procfile.FileEdit{{Path: name, Edits: []procfile.Edit{{Search: "old", Replace: "old!"}}}}})
		require.Equal(t, may != "rw", errors.Is(err, procmgr.ErrRefused), "edit %s: %v", name, err)
		_, err = l.Write(t.Context(), procfile.WriteRequest{Path: name + "/../new", Content: "x"})
		if may == "rw" {
			require.NoError(t, err, name)
		}
		_, err = l.Write(t.Context(), procfile.WriteRequest{Path: name, Content: "new\n"})
		require.Equal(t, may != "rw", errors.Is(err, procmgr.ErrRefused), "write %s: %v", name, err)
	}
	_, err = l.Write(t.Context(), procfile.WriteRequest{Path: "w/sub/f", Content: "x"})
	require.NoError(t, err, "a directory is made")
	_, err = l.Write(t.Context(), procfile.WriteRequest{Path: "f", Content: "x"})
	require.ErrorContains(t, err, "below "+path("w")+", "+path("home/work")+" only")
	// A relative path begins at Root.
	rooted, err := procfile.NewLocal(&procfile.LocalOptions{Root: dir, Sandbox: &procmgr.SandboxRules{Write: []string{"w"}, Protect: []string{"w/.git/hooks"}}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rooted.Close()) })
	_, err = rooted.Write(t.Context(), procfile.WriteRequest{Path: "w/.git/hooks/pre", Content: "x"})
	require.ErrorIs(t, err, procmgr.ErrRefused)
	// The second file of a directory is looked at like the first.
	edit := []procfile.Edit{{Search: "new", Replace: "newer"}}
	_, err = l.Edit(t.Context(), procfile.EditRequest{Files: []procfile.FileEdit{{Path: "w/.git/other", Edits: edit}, {Path: "w/.git/config", Edits: []procfile.Edit{{Search: "old", Replace: "x"}}}}})
	require.ErrorIs(t, err, procmgr.ErrRefused)
	data, err := os.ReadFile(path("w/.git/config"))
	require.NoError(t, err)
	require.Equal(t, "old\n", string(data))
}
