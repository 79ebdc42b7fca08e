package procfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/filetool/procfile"
)

// oracle is an edit of a file whose lines end with \n, if the search is there as it is.
func oracle(file, search, replace string, all bool) (string, error) {
	search, replace = strings.ReplaceAll(search, "\r\n", "\n"), strings.ReplaceAll(replace, "\r\n", "\n")
	i := strings.Index(file, search)
	switch {
	case i < 0:
		return file, procfile.ErrNoPlace
	case all:
		return strings.ReplaceAll(file, search, replace), nil
	case strings.Contains(file[i+1:], search):
		return file, procfile.ErrAmbiguous
	}
	return strings.Replace(file, search, replace, 1), nil
}

// What is there as it is comes out as the oracle says, also with \r\n, or is refused. What
// is not there changes nothing.
func FuzzEdit(f *testing.F) {
	for _, tt := range corpus {
		f.Add(tt.file, tt.search, tt.replace, tt.all)
	}
	dir := f.TempDir()
	l, err := procfile.NewLocal(&procfile.LocalOptions{Root: dir})
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, l.Close()) })
	f.Fuzz(func(t *testing.T, file, search, replace string, all bool) {
		file = strings.ReplaceAll(strings.ToValidUTF8(file, "?"), "\x00", "?")
		if strings.Contains(file, "\r") || strings.HasPrefix(file, "\ufeff") || len(file) > 4096 || len(search) > 1024 {
			return
		}
		for _, crlf := range []bool{false, true} {
			ends := func(s string) string {
				if crlf {
					return strings.ReplaceAll(s, "\n", "\r\n")
				}
				return s
			}
			name := filepath.Join(dir, "f")
			require.NoError(t, os.WriteFile(name, []byte(ends(file)), 0o600))
			_, err := l.Edit(t.Context(), procfile.EditRequest{Files: []procfile.FileEdit{{Path: "f", Edits: []procfile.Edit{{Search: search, Replace: replace, All: all}}}}})
			data, rerr := os.ReadFile(name)
			require.NoError(t, rerr)
			if errors.Is(err, errInvalid) || errors.Is(err, procfile.ErrNotText) {
				require.Equal(t, ends(file), string(data))
				return
			}
			want, werr := oracle(file, search, replace, all)
			if errors.Is(werr, procfile.ErrNoPlace) {
				if err != nil {
					require.Equal(t, ends(file), string(data))
				}
				continue
			}
			if errors.Is(err, procfile.ErrAmbiguous) { // also if it is not clear how lines are indented
				require.Equal(t, ends(file), string(data))
				continue
			}
			require.ErrorIs(t, err, werr)
			if crlf && !strings.Contains(file, "\n") {
				continue // nothing says that its lines end with \r\n
			}
			if strings.Contains(replace, "\r") || strings.Contains(search, "\r") {
				continue
			}
			require.Equal(t, ends(want), string(data))
		}
	})
}
