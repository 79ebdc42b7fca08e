//go:build linux

package procfile_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/procfile"
)

func TestSwappedLink(t *testing.T) { swapLinks(t, 300) }

func TestHeldSwappedLink(t *testing.T) {
	testenv.Held(t)
	swapLinks(t, 10_000)
}

// A directory that is swapped for a link out of Root while calls go through it leads
// nothing out, and nothing in.
func swapLinks(t *testing.T, rounds int) {
	t.Helper()
	l, dir := newLocal(t)
	outside := t.TempDir()
	secret := filepath.Join(outside, "f")
	require.NoError(t, os.WriteFile(secret, []byte("outside\n"), 0o600))
	at := filepath.Join(dir, "d")
	real := filepath.Join(dir, "real")
	require.NoError(t, os.Mkdir(real, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(real, "f"), []byte("inside\n"), 0o600))
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink("real", at))

	var stop atomic.Bool
	swapped := make(chan error)
	go func() { // until stop; the test waits for it
		for n := 0; !stop.Load(); n++ {
			to := []string{outside, "real", "../" + filepath.Base(filepath.Dir(outside)) + "/" + filepath.Base(outside)}[n%3]
			err := os.Symlink(to, link)
			if err == nil {
				err = os.Rename(link, at)
			}
			if err != nil {
				swapped <- err
				return
			}
		}
		swapped <- nil
	}()
	inside := 0
	for range rounds {
		res, err := l.Read(t.Context(), procfile.ReadRequest{Path: "d/f"})
		if err == nil {
			inside++
			require.NotEqual(t, "outside", res.Lines[0].Text)
		}
		_, _ = l.Write(t.Context(), procfile.WriteRequest{Path: "d/f", Content: "inside\n"}) // refused or within Root
		_, _ = l.Edit(t.Context(), procfile.EditRequest{Files: []procfile.FileEdit{{Path: "d/f", Edits: []procfile.Edit{{Search: "outside", Replace: "inside"}}}}})
		_, _ = l.Write(t.Context(), procfile.WriteRequest{Path: "d/new/g", Content: "x"})
	}
	stop.Store(true)
	require.NoError(t, <-swapped)
	data, err := os.ReadFile(secret)
	require.NoError(t, err)
	require.Equal(t, "outside\n", string(data))
	names, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Len(t, names, 1, "nothing was written there")
	require.NotZero(t, inside)
}

// A disk that fills in the middle: the file is as it was, and nothing is left behind.
func TestFullDisk(t *testing.T) {
	testenv.Root(t)
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		testenv.Lacks(t, "mount", "a tmpfs cannot be mounted: %v", err)
		return
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	l, err := procfile.NewLocal(&procfile.LocalOptions{Dir: dir})
	require.NoError(t, err)
	small := filepath.Join(dir, "small")
	require.NoError(t, os.WriteFile(small, []byte("old\n"), 0o600))
	_, err = l.Write(t.Context(), procfile.WriteRequest{Path: "small", Content: strings.Repeat("x", 1<<20)})
	require.ErrorIs(t, err, procmgr.ErrLimit)
	require.ErrorContains(t, err, "is full")
	_, err = l.Write(t.Context(), procfile.WriteRequest{Path: "d/e/new", Content: strings.Repeat("x", 1<<20)})
	require.ErrorIs(t, err, procmgr.ErrLimit)
	// Two files, of which the second has no room.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "big"), []byte(strings.Repeat("y", 100<<10)+"\nend\n"), 0o600))
	_, err = l.Edit(t.Context(), procfile.EditRequest{Files: []procfile.FileEdit{
		{Path: "small", Edits: []procfile.Edit{{Search: "old", Replace: "new"}}},
		{Path: "big", Edits: []procfile.Edit{{Search: "end", Replace: strings.Repeat("z", 100<<10)}}},
	}})
	require.ErrorIs(t, err, procmgr.ErrLimit)
	data, err := os.ReadFile(small)
	require.NoError(t, err)
	require.Equal(t, "old\n", string(data))
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, names, 2)
}

// A file of 4 GB is read by lines in bounded memory, from its beginning and its end.
func TestHeldHugeFile(t *testing.T) {
	testenv.Held(t)
	l, dir := newLocal(t)
	f, err := os.Create(filepath.Join(dir, "f"))
	require.NoError(t, err)
	_, err = f.WriteString("first\nsecond\n")
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("\nlast but one\nlast\n"), 4<<30)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res, err := l.Read(t.Context(), procfile.ReadRequest{Path: "f", Offset: -2})
	require.NoError(t, err)
	require.Equal(t, []procfile.Line{{Text: "last but one"}, {Text: "last"}}, res.Lines)
	require.EqualValues(t, 5, res.Total)
	res, err = l.Read(t.Context(), procfile.ReadRequest{Path: "f", Limit: 2})
	require.NoError(t, err)
	require.Equal(t, []procfile.Line{{Text: "first"}, {Text: "second"}}, res.Lines)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20))
}
