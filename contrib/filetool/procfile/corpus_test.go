package procfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/filetool/procfile"
)

// newLocal returns the files of a new directory.
func newLocal(t testing.TB) (*procfile.Local, string) {
	t.Helper()
	dir := t.TempDir()
	l, err := procfile.NewLocal(&procfile.LocalOptions{Root: dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l, dir
}

const goFile = "package p\n\nfunc f(x int) int {\n\tif x > 0 {\n\t\treturn x\n\t}\n\treturn 0\n}\n"
const pyFile = "def f(x):\n    if x:\n        return 1\n    return 0\n\n\ndef g(x):\n    return 2\n"

var longLine = "<" + strings.Repeat("x", 1999)

// An edited file must come out byte for byte. want is "" if the edit is refused with err.
var corpus = []struct {
	name, file, search, replace string
	all                         bool
	want                        string
	err                         error
}{
	{name: "as it is", file: goFile, search: "return 0", replace: "return 1", want: "package p\n\nfunc f(x int) int {\n\tif x > 0 {\n\t\treturn x\n\t}\n\treturn 1\n}\n"},
	{name: "within a line", file: "a b c\n", search: "b", replace: "B", want: "a B c\n"},
	{name: "lines with their end", file: "a\nb\nc\n", search: "b\n", replace: "B\n", want: "a\nB\nc\n"},
	{name: "delete a line", file: "a\nb\nc\n", search: "b\n", replace: "", want: "a\nc\n"},
	{name: "delete words", file: "a b c\n", search: " b", replace: "", want: "a c\n"},
	{name: "insert behind", file: "a\nc\n", search: "a\n", replace: "a\nb\n", want: "a\nb\nc\n"},
	{name: "insert before", file: "b\nc\n", search: "b", replace: "a\nb", want: "a\nb\nc\n"},
	{name: "over two lines", file: "a\nb\nc\n", search: "a\nb", replace: "x", want: "x\nc\n"},
	{name: "whole file", file: "a\nb\n", search: "a\nb\n", replace: "", want: ""},
	{name: "special characters", file: "re := `\\d+$1`\n", search: "`\\d+$1`", replace: "`\\w$&`", want: "re := `\\w$&`\n"},
	{name: "more than ASCII", file: "Grüße\n", search: "üß", replace: "ue", want: "Gruee\n"},
	// no newline at the end
	{name: "no end: last line", file: "a\nb", search: "b", replace: "c", want: "a\nc"},
	{name: "no end: search has one", file: "a\nb", search: "b\n", replace: "c\n", want: "a\nc"},
	{name: "no end: more lines", file: "a\nb", search: "b\n", replace: "c\nd\n", want: "a\nc\nd"},
	{name: "no end: delete the last", file: "a\nb", search: "b\n", replace: "", want: "a\n"},
	{name: "no end: first line", file: "a\nb", search: "a\n", replace: "x\n", want: "x\nb"},
	{name: "no end: append", file: "a", search: "a", replace: "a\nb\n", want: "a\nb\n"},
	// CRLF
	{name: "CRLF: one line", file: "a\r\nb\r\n", search: "b", replace: "c", want: "a\r\nc\r\n"},
	{name: "CRLF: two lines", file: "a\r\nb\r\nc\r\n", search: "a\nb", replace: "x\ny\nz", want: "x\r\ny\r\nz\r\nc\r\n"},
	{name: "CRLF: with the end", file: "a\r\nb\r\n", search: "a\n", replace: "", want: "b\r\n"},
	{name: "CRLF: the model has it too", file: "a\r\nb\r\n", search: "a\r\nb\r\n", replace: "c\r\nd\r\n", want: "c\r\nd\r\n"},
	{name: "CRLF: only the model has it", file: "a\nb\n", search: "a\r\nb", replace: "c\r\nd", want: "c\nd\n"},
	{name: "CRLF: the last line has none", file: "a\r\nb", search: "b", replace: "b\nc", want: "a\r\nb\r\nc"},
	{name: "mixed: the other lines stay", file: "a\nb\r\nc\n", search: "c", replace: "d", want: "a\nb\r\nd\n"},
	{name: "mixed: as the line is", file: "a\nb\r\nc\n", search: "b", replace: "b\nx", want: "a\nb\r\nx\r\nc\n"},
	{name: "mixed: over both", file: "a\nb\r\nc\n", search: "a\nb\nc", replace: "a\nB\nc", want: "a\nB\r\nc\n"},
	// byte order mark and encodings
	{name: "BOM", file: "\xef\xbb\xbfa\nb\n", search: "a", replace: "x", want: "\xef\xbb\xbfx\nb\n"},
	{name: "BOM, CRLF", file: "\xef\xbb\xbfa\r\n", search: "a\n", replace: "é😀\nc\n", want: "\xef\xbb\xbfé😀\r\nc\r\n"},
	{name: "UTF-16LE", file: "\xff\xfea\x00\n\x00b\x00", search: "b", replace: "c", err: procfile.ErrNotText},
	{name: "no UTF-8 beside", file: "caf\xe9\nb\n", search: "b", replace: "c", want: "caf\xe9\nc\n"},
	// space at the end of lines
	{name: "space in the file", file: "a  \nb\t\nc\n", search: "a\nb\n", replace: "a\nB\n", err: procfile.ErrNoPlace},
	{name: "space in the search", file: "a\nb\nc\n", search: "a \nb  ", replace: "a \nx", err: procfile.ErrNoPlace},
	{name: "empty line with space", file: "a\n    \nb\n", search: "a\n\nb", replace: "a\n\nc", err: procfile.ErrNoPlace},
	// indentation
	{name: "none for a tab", file: goFile, search: "if x > 0 {\n\treturn x\n}", replace: "if x > 1 {\n\treturn x\n}", err: procfile.ErrNoPlace},
	{name: "spaces for tabs", file: goFile, search: "    if x > 0 {\n        return x\n    }", replace: "    if x > 0 {\n        x++\n        return x\n    }", err: procfile.ErrNoPlace},
	{name: "four too many", file: pyFile, search: "        if x:\n            return 1", replace: "        if not x:\n            return 1", err: procfile.ErrNoPlace},
	{name: "all indentation lost", file: pyFile, search: "if x:\nreturn 1\nreturn 0", replace: "if x:\nreturn 5\nreturn 0", err: procfile.ErrNoPlace},
	{name: "first line alone lost", file: pyFile, search: "if x:\n        return 1", replace: "if z:\n        return 1", want: "def f(x):\n    if z:\n        return 1\n    return 0\n\n\ndef g(x):\n    return 2\n"},
	// a search of one line without its indentation
	{name: "one line becomes several", file: pyFile, search: "return 2", replace: "if self.ok:\n    return 3\nreturn 2", err: procfile.ErrAmbiguous},
	{name: "an item of YAML", file: "a:\n  - name: x\n", search: "name: x", replace: "name: x\nage: 3", err: procfile.ErrAmbiguous},
	{name: "a level that the file has not", file: "a:\n    b\n", search: "    b", replace: "    b\n  c", want: "a:\n    b\n  c\n"},
	{name: "lines that are aligned", file: "f:\n    a()\n", search: "    a()", replace: "    a(b,\n      c)", want: "f:\n    a(b,\n      c)\n"},
	{name: "a part of the line", file: "f:\n    a = g(1)  # x\n", search: "a = g(1)", replace: "if b:\n    a = g(1)", err: procfile.ErrAmbiguous},
	{name: "from the middle of the line", file: "f() {\n  a = g(1)\n}\n", search: "g(1)", replace: "g(\n  1,\n)", err: procfile.ErrAmbiguous},
	{name: "the whole line goes", file: "a:\n  b\n  c\n", search: "b\n", replace: "", err: procfile.ErrAmbiguous},
	{name: "spaces and tabs, as the file has them", file: "x:\n\ta\n\tb\n", search: "\ta\n", replace: "\ta \\\n\t        c\n", want: "x:\n\ta \\\n\t        c\n\tb\n"},
	{name: "the first line becomes an empty one", file: "a:\n\tb\n\nc:\n\td\n", search: "b\n\nc:\n", replace: "\nc:\n", err: procfile.ErrAmbiguous},
	// a line too many
	{name: "an empty line before", file: "a\nb\n", search: "\na\n", replace: "\nx\n", err: procfile.ErrNoPlace},
	{name: "an empty line behind", file: "a\nb\n", search: "a\n\n", replace: "x\n\n", err: procfile.ErrNoPlace},
	{name: "a line that is not there", file: "a\nb\n", search: "a\nq", replace: "x", err: procfile.ErrNoPlace},
	{name: "a line beyond the end", file: "a\nb\n", search: "b\nc\n", replace: "x\n", err: procfile.ErrNoPlace},
	{name: "the end of the last line is missing in replace", file: "\ta\n\tb\n", search: "\ta\n", replace: "\tx", err: errInvalid},
	{name: "the same, behind the indentation", file: "\ta\n\tb\n", search: "a\n", replace: "x", err: errInvalid},
	{name: "an empty line before, in search alone", file: "a:\n  b: 1\n", search: "\n  b: 1\n", replace: "  b: 2\n", err: errInvalid},
	{name: "a line that is cut as it is shown", file: longLine + "\nb\n", search: longLine[:1024], replace: longLine[:1024] + "\na", err: errInvalid},
	{name: "the beginning of a line that is cut", file: longLine + "\nb\n", search: longLine[:1024], replace: longLine[:1000], want: longLine[:1976] + "\nb\n"},
	{name: "lines are joined", file: "a = [\n1\n]\n", search: "1\n]", replace: "1]", want: "a = [\n1]\n"},
	{name: "a line end goes", file: "a\nb\n", search: "a\n", replace: "a", want: "ab\n"},
	{name: "a line end before goes", file: "f()\n{\n", search: "\n{", replace: " {", err: errInvalid},
	// indented as the file is not
	{name: "tabs for spaces, in lines that are new", file: pyFile, search: "    return 2\n", replace: "    if y:\n    \treturn 3\n    return 2\n", err: errInvalid},
	{name: "two for four spaces, in lines that are new", file: pyFile, search: "    return 2\n", replace: "    if y:\n      return 3\n    return 2\n", err: errInvalid},
	{name: "a tab where all lines begin with spaces", file: pyFile, search: "def g(x):\n", replace: "\n\tx\ndef g(x):\n", err: errInvalid},
	{name: "spaces that had to be a tab", file: "all:\n    cc a\n", search: "    cc a\n", replace: "\tcc a\n", want: "all:\n\tcc a\n"},
	{name: "two spaces that had to be four", file: "if a:\n  x = 1\n", search: "if a:\n  x = 1\n", replace: "if a:\n    x = 1\n", want: "if a:\n    x = 1\n"},
	{name: "an item of YAML that is not indented", file: "- a: 1\n- b: 2\n", search: "a: 1", replace: "a: 1\n  c: 3", err: procfile.ErrAmbiguous},
	{name: "the first lines that are indented", file: "a\n", search: "a\n", replace: "if x:\n   a\n", want: "if x:\n   a\n"},
	// twice the same text
	{name: "twice", file: "a\nb\na\n", search: "a", replace: "x", err: procfile.ErrAmbiguous},
	{name: "twice, all", file: "a\nb\na\n", search: "a", replace: "x", all: true, want: "x\nb\nx\n"},
	{name: "all, where the last line has no end", file: "a\na\na", search: "a\na\n", replace: "x\n", all: true, want: "x\na"},
	{name: "a line goes with the line ends around it", file: "a\nb\nc\n", search: "\nb\n", replace: "", err: errInvalid},
	{name: "twice, overlapping", file: "aaa\n", search: "aa", replace: "x", err: procfile.ErrAmbiguous},
	{name: "overlapping, all", file: "aaa\n", search: "aa", replace: "b", all: true, want: "ba\n"},
	{name: "twice on a line, all, as several lines", file: "{\n\tf(a); f(b)\n}\n", search: "f(", replace: "f(\n    x, ", all: true, err: procfile.ErrAmbiguous},
	{name: "on a line of a megabyte, all, as several lines", file: strings.Repeat("[{},{}]", 150_000), search: "},{", replace: "},\n{", all: true, want: strings.Repeat("[{},\n{}]", 150_000)},
	{name: "with a line that tells them apart", file: "a\nx\nb\nx\n", search: "b\nx", replace: "b\ny", want: "a\nx\nb\ny\n"},
	// what can never be
	{name: "nothing to search", file: "a\n", search: "", replace: "x", err: errInvalid},
	{name: "nothing to change", file: "a\n", search: "a", replace: "a", err: errInvalid},
	{name: "inner space", file: "a  b\n", search: "a b", replace: "x", err: procfile.ErrNoPlace},
}

func TestCorpus(t *testing.T) {
	require.GreaterOrEqual(t, len(corpus), 50)
	l, dir := newLocal(t)
	for i, tt := range corpus {
		t.Run(tt.name, func(t *testing.T) {
			name := fmt.Sprintf("%d.txt", i)
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(tt.file), 0o600))
			_, err := l.Edit(t.Context(), procfile.EditRequest{Files: []procfile.FileEdit{{Path: name, Edits: []procfile.Edit{{Search: tt.search, Replace: tt.replace, All: tt.all}}}}})
			want := tt.want
			if tt.err != nil {
				require.ErrorIs(t, err, tt.err)
				want = tt.file
			} else {
				require.NoError(t, err)
			}
			data, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			require.Equal(t, want, string(data))
		})
	}
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, names, len(corpus), "nothing is left behind")
}
