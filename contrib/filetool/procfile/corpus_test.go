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
	{name: "no end: delete the last", file: "a\nb", search: "b\n", replace: "", want: "a"},
	{name: "no end: first line", file: "a\nb", search: "a\n", replace: "x\n", want: "x\nb"},
	{name: "no end: append", file: "a", search: "a", replace: "a\nb\n", want: "a\nb\n"},
	// CRLF
	{name: "CRLF: one line", file: "a\r\nb\r\n", search: "b", replace: "c", want: "a\r\nc\r\n"},
	{name: "CRLF: two lines", file: "a\r\nb\r\nc\r\n", search: "a\nb", replace: "x\ny\nz", want: "x\r\ny\r\nz\r\nc\r\n"},
	{name: "CRLF: with the end", file: "a\r\nb\r\n", search: "a\n", replace: "", want: "b\r\n"},
	{name: "CRLF: the model has it too", file: "a\r\nb\r\n", search: "a\r\nb\r\n", replace: "c\r\nd\r\n", want: "c\r\nd\r\n"},
	{name: "CRLF: only the model has it", file: "a\nb\n", search: "a\r\nb", replace: "c\r\nd", want: "c\nd\n"},
	{name: "CRLF: indented", file: "{\r\n\ta\r\n}\r\n", search: "{\n    a\n}", replace: "{\n    a\n    b\n}", want: "{\r\n\ta\r\n\tb\r\n}\r\n"},
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
	{name: "space in the file", file: "a  \nb\t\nc\n", search: "a\nb\n", replace: "a\nB\n", want: "a  \nB\nc\n"},
	{name: "space in the last line, in the file", file: "a\nb \nc\n", search: "a\nb\n", replace: "x\nb\n", want: "x\nb \nc\n"},
	{name: "space in the search", file: "a\nb\nc\n", search: "a \nb  ", replace: "a \nx", want: "a\nx\nc\n"},
	{name: "empty line with space", file: "a\n    \nb\n", search: "a\n\nb", replace: "a\n\nc", want: "a\n    \nc\n"},
	// indentation
	{name: "none for a tab", file: goFile, search: "if x > 0 {\n\treturn x\n}", replace: "if x > 1 {\n\treturn x\n}", want: "package p\n\nfunc f(x int) int {\n\tif x > 1 {\n\t\treturn x\n\t}\n\treturn 0\n}\n"},
	{name: "spaces for tabs", file: goFile, search: "    if x > 0 {\n        return x\n    }", replace: "    if x > 0 {\n        x++\n        return x\n    }", want: "package p\n\nfunc f(x int) int {\n\tif x > 0 {\n\t\tx++\n\t\treturn x\n\t}\n\treturn 0\n}\n"},
	{name: "two spaces for tabs", file: goFile, search: "  if x > 0 {\n    return x\n  }", replace: "  if x > 0 {\n    for {\n      x++\n    }\n  }", want: "package p\n\nfunc f(x int) int {\n\tif x > 0 {\n\t\tfor {\n\t\t\tx++\n\t\t}\n\t}\n\treturn 0\n}\n"},
	{name: "deeper than the search", file: "func f() {\n\ta()\n}\n", search: "    a()", replace: "    if x {\n        a()\n    }", want: "func f() {\n\tif x {\n\t\ta()\n\t}\n}\n"},
	{name: "tabs for spaces", file: pyFile, search: "\tif x:\n\t\treturn 1", replace: "\tif x:\n\t\tif y:\n\t\t\treturn 3\n\t\treturn 1", want: "def f(x):\n    if x:\n        if y:\n            return 3\n        return 1\n    return 0\n\n\ndef g(x):\n    return 2\n"},
	{name: "two for four spaces", file: pyFile, search: "  if x:\n    return 1\n  return 0", replace: "  if x:\n    return 3\n  return 0", want: "def f(x):\n    if x:\n        return 3\n    return 0\n\n\ndef g(x):\n    return 2\n"},
	{name: "four too many", file: pyFile, search: "        if x:\n            return 1", replace: "        if not x:\n            return 1", want: "def f(x):\n    if not x:\n        return 1\n    return 0\n\n\ndef g(x):\n    return 2\n"},
	{name: "less than the search", file: "{\n\t\ta\n\t}\n", search: "    a\n}", replace: "    b\n}", want: "{\n\t\tb\n\t}\n"},
	{name: "all indentation lost", file: pyFile, search: "if x:\nreturn 1\nreturn 0", replace: "if x:\nreturn 5\nreturn 0", want: "def f(x):\n    if x:\n        return 5\n    return 0\n\n\ndef g(x):\n    return 2\n"},
	{name: "first line alone lost", file: pyFile, search: "if x:\n        return 1", replace: "if z:\n        return 1", want: "def f(x):\n    if z:\n        return 1\n    return 0\n\n\ndef g(x):\n    return 2\n"},
	{name: "YAML", file: "a:\n  b:\n    - c\n", search: "b:\n  - c", replace: "b:\n  - c\n  - d", want: "a:\n  b:\n    - c\n    - d\n"},
	{name: "delete indented lines", file: goFile, search: "if x > 0 {\n    return x\n}\n", replace: "", want: "package p\n\nfunc f(x int) int {\n\treturn 0\n}\n"},
	// a search of one line without its indentation
	{name: "one line becomes several", file: pyFile, search: "return 2", replace: "if self.ok:\n    return 3\nreturn 2", want: "def f(x):\n    if x:\n        return 1\n    return 0\n\n\ndef g(x):\n    if self.ok:\n        return 3\n    return 2\n"},
	{name: "several, with the file's indentation behind the first", file: pyFile, search: "return 2", replace: "if self.ok:\n        return 3\n    return 2", want: "def f(x):\n    if x:\n        return 1\n    return 0\n\n\ndef g(x):\n    if self.ok:\n        return 3\n    return 2\n"},
	{name: "wrapped", file: pyFile, search: "return 1\n", replace: "for y in x:\n    return 1\n", want: "def f(x):\n    if x:\n        for y in x:\n            return 1\n    return 0\n\n\ndef g(x):\n    return 2\n"},
	{name: "spaces where the file has tabs", file: goFile, search: "return x", replace: "for {\n    x++\n}", want: "package p\n\nfunc f(x int) int {\n\tif x > 0 {\n\t\tfor {\n\t\t\tx++\n\t\t}\n\t}\n\treturn 0\n}\n"},
	{name: "Makefile", file: "all: a\n\tcc a\n\tcc b\n", search: "cc a", replace: "cc a\ncc c", want: "all: a\n\tcc a\n\tcc c\n\tcc b\n"},
	{name: "a map of YAML", file: "a:\n  b: 1\n  c: 2\n", search: "b: 1", replace: "b:\n  - 1\n  - 2", want: "a:\n  b:\n    - 1\n    - 2\n  c: 2\n"},
	{name: "an item of YAML", file: "a:\n  - name: x\n", search: "name: x", replace: "name: x\nage: 3", want: "a:\n  - name: x\n    age: 3\n"},
	{name: "an item of YAML, with the file's indentation", file: "a:\n  - name: x\n  - name: y\n", search: "name: x", replace: "name: x\n    age: 3", want: "a:\n  - name: x\n    age: 3\n  - name: y\n"},
	{name: "a level that the file has not", file: "a:\n    b\n", search: "    b", replace: "    b\n  c", want: "a:\n    b\n  c\n"},
	{name: "lines that are aligned", file: "f:\n    a()\n", search: "    a()", replace: "    a(b,\n      c)", want: "f:\n    a(b,\n      c)\n"},
	{name: "half of the indentation", file: "a {\n        b\n}\n", search: "    b", replace: "    x\n    b", want: "a {\n        x\n        b\n}\n"},
	{name: "a part of the line", file: "f:\n    a = g(1)  # x\n", search: "a = g(1)", replace: "if b:\n    a = g(1)", want: "f:\n    if b:\n        a = g(1)  # x\n"},
	{name: "from the middle of the line", file: "f() {\n  a = g(1)\n}\n", search: "g(1)", replace: "g(\n  1,\n)", want: "f() {\n  a = g(\n    1,\n  )\n}\n"},
	{name: "the whole line goes", file: "a:\n  b\n  c\n", search: "b\n", replace: "", want: "a:\n  c\n"},
	{name: "a block that may be left", file: "def f(x):\n    return 1\n", search: "return 1", replace: "return 2\n\n\ndef g():\n    pass", err: procfile.ErrAmbiguous},
	{name: "levels that the search has lost", file: "a:\n  b\nc\n", search: "a:\nb \nc", replace: "a:\nb\nd\nc", err: procfile.ErrAmbiguous},
	{name: "one line becomes two levels, all lost", file: "a {\n\tb\n}\n", search: "b \n", replace: "if c {\nd\n}\n", err: procfile.ErrAmbiguous},
	{name: "two lines become two levels, all lost", file: "a {\n\tb\n\tc\n}\n", search: "b\nc", replace: "if c {\nb\n}\nc", err: procfile.ErrAmbiguous},
	{name: "lines of two levels change places, all lost", file: "a:\n  b:\n    c\n  d\n", search: "b:\nc\nd", replace: "d\nb:\nc", err: procfile.ErrAmbiguous},
	{name: "the first line alone is lost, and its end is another", file: "a {\n\t\tb\n\t\tc\n\t}\nx\n", search: "b \n\t\tc", replace: "b\n\t\tc\n\t}\n\tif d {\n\t\te", want: "a {\n\t\tb\n\t\tc\n\t}\n\tif d {\n\t\te\n\t}\nx\n"},
	{name: "one line, and its end is another", file: pyFile, search: "return 2 ", replace: "if self.ok:\n        return 3\n    return 2", want: "def f(x):\n    if x:\n        return 1\n    return 0\n\n\ndef g(x):\n    if self.ok:\n        return 3\n    return 2\n"},
	{name: "a line that stays but for its end", file: "\t]\n\tb\n]\n", search: "] \n\tb\n]", replace: "]\n\tb\n] # x", want: "\t]\n\tb\n] # x\n"},
	{name: "spaces and tabs, as the file has them", file: "x:\n\ta\n\tb\n", search: "\ta\n", replace: "\ta \\\n\t        c\n", want: "x:\n\ta \\\n\t        c\n\tb\n"},
	{name: "the first line becomes an empty one", file: "a:\n\tb\n\nc:\n\td\n", search: "b\n\nc:\n", replace: "\nc:\n", want: "a:\n\nc:\n\td\n"},
	// a line too many
	{name: "an empty line before", file: "a\nb\n", search: "\na\n", replace: "\nx\n", want: "x\nb\n"},
	{name: "an empty line behind", file: "a\nb\n", search: "a\n\n", replace: "x\n\n", want: "x\nb\n"},
	{name: "an empty line around, indented", file: "\ta\n\tb\n", search: "\n    a\n\n", replace: "\n    x\n\n", want: "\tx\n\tb\n"},
	{name: "an empty line behind, by lines", file: "\ta\n\tb\n", search: "    a", replace: "    a\n", want: "\ta\n\n\tb\n"},
	{name: "an empty line behind others, by lines", file: "a \nb\nc\n", search: "a\nb", replace: "a\nx\n", want: "a \nx\n\nc\n"},
	{name: "an empty line before, by lines", file: "\ta\n\tb\n", search: "    a\n    b\n", replace: "    a\n\n    b\n\n", want: "\ta\n\n\tb\n\n"},
	{name: "an empty line too many, and no line then", file: "a\nb\n", search: "\na\n", replace: "\n", want: "b\n"},
	{name: "a line that is not there", file: "a\nb\n", search: "a\nq", replace: "x", err: procfile.ErrNoPlace},
	{name: "a line beyond the end", file: "a\nb\n", search: "b\nc\n", replace: "x\n", err: procfile.ErrNoPlace},
	{name: "the end of the last line is missing in replace", file: "\ta\n\tb\n", search: "\ta\n", replace: "\tx", want: "\tx\n\tb\n"},
	{name: "the same, behind the indentation", file: "\ta\n\tb\n", search: "a\n", replace: "x", want: "\tx\n\tb\n"},
	{name: "an empty line before, in search alone", file: "a:\n  b: 1\n", search: "\n  b: 1\n", replace: "  b: 2\n", want: "a:\n  b: 2\n"},
	{name: "the same, not indented", file: "a\nb\nc\n", search: "\nb\nc", replace: "c\nb", want: "a\nc\nb\n"},
	{name: "a line that is cut as it is shown", file: longLine + "\nb\n", search: longLine[:1024], replace: longLine[:1024] + "\na", err: errInvalid},
	{name: "the beginning of a line that is cut", file: longLine + "\nb\n", search: longLine[:1024], replace: longLine[:1000], want: longLine[:1976] + "\nb\n"},
	{name: "lines are joined", file: "a = [\n1\n]\n", search: "1\n]", replace: "1]", want: "a = [\n1]\n"},
	{name: "a line end goes", file: "a\nb\n", search: "a\n", replace: "a", want: "ab\n"},
	{name: "a line end before goes", file: "f()\n{\n", search: "\n{", replace: " {", want: "f() {\n"},
	// twice the same text
	{name: "twice", file: "a\nb\na\n", search: "a", replace: "x", err: procfile.ErrAmbiguous},
	{name: "twice, all", file: "a\nb\na\n", search: "a", replace: "x", all: true, want: "x\nb\nx\n"},
	{name: "twice, overlapping", file: "aaa\n", search: "aa", replace: "x", err: procfile.ErrAmbiguous},
	{name: "overlapping, all", file: "aaa\n", search: "aa", replace: "b", all: true, want: "ba\n"},
	{name: "twice but for indentation", file: "a {\n\tx\n}\nb {\n\t\tx\n}\n", search: "    x\n", replace: "    y\n", err: procfile.ErrAmbiguous},
	{name: "as it is counts first", file: "    x\n\tx\n", search: "    x", replace: "    y", want: "    y\n\tx\n"},
	{name: "all, each as it is indented", file: "a {\n\tx\n}\nb {\n\t\tx\n}\n", search: "    x\n", replace: "    y\n", all: true, want: "a {\n\ty\n}\nb {\n\t\ty\n}\n"},
	{name: "twice on a line, all, as several lines", file: "{\n\tf(a); f(b)\n}\n", search: "f(", replace: "f(\n    x, ", all: true, want: "{\n\tf(\n\t\tx, a); f(\n\t\tx, b)\n}\n"},
	{name: "on a line of a megabyte, all, as several lines", file: strings.Repeat("[{},{}]", 150_000), search: "},{", replace: "},\n{", all: true, want: strings.Repeat("[{},\n{}]", 150_000)},
	{name: "with a line that tells them apart", file: "a\nx\nb\nx\n", search: "b\nx", replace: "b\ny", want: "a\nx\nb\ny\n"},
	// what can never be
	{name: "nothing to search", file: "a\n", search: "", replace: "x", err: errInvalid},
	{name: "nothing to change", file: "a\n", search: "a", replace: "a", err: errInvalid},
	{name: "nothing changes by lines", file: "a\nb\n", search: "\ta", replace: "a", err: errInvalid},
	{name: "inner space", file: "a  b\n", search: "a b", replace: "x", err: procfile.ErrNoPlace},
}

func TestCorpus(t *testing.T) {
	require.GreaterOrEqual(t, len(corpus), 60)
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
