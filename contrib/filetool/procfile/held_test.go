//go:build linux

package procfile_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/contrib/filetool/procfile"
	"github.com/toolproc/toolproc/procmgr"
)

func TestSwappedLink(t *testing.T) { swapLinks(t, 300) }

func TestHeldSwappedLink(t *testing.T) {
	held(t)
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

// What a program has left that was killed in the middle of a write is removed by the next
// one that writes there. What another one is writing stays.
func TestKilledWrite(t *testing.T) {
	const variable = "TOOLPROC_TEST_WRITES"
	if dir := os.Getenv(variable); dir != "" {
		l, err := procfile.NewLocal(&procfile.LocalOptions{Root: dir})
		require.NoError(t, err)
		for text := strings.Repeat("x", 64<<20); ; { // until it is killed
			_, err := l.Write(t.Context(), procfile.WriteRequest{Path: "f", Content: text})
			require.NoError(t, err)
		}
	}
	t.Parallel()
	l, dir := newLocal(t)
	left := func() []string {
		names, err := filepath.Glob(filepath.Join(dir, ".toolproc-*"))
		require.NoError(t, err)
		return names
	}
	for len(left()) == 0 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWrite$")
		cmd.Env = append(os.Environ(), variable+"="+dir)
		require.NoError(t, cmd.Start())
		for len(left()) == 0 {
			runtime.Gosched()
		}
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())
	}
	_, err := l.Write(t.Context(), procfile.WriteRequest{Path: "g", Content: "x"})
	require.NoError(t, err)
	require.Empty(t, left())
}

// A file that can be written and not be replaced: the error says how it is done, and no
// file of an edit is changed.
func TestIrreplaceable(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "d"), 0o700))
	for _, name := range []string{"a", "d/f", "other"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("old\n"), 0o666))
	}
	l, err := procfile.NewLocal(&procfile.LocalOptions{Root: dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	change := func() (wrote, edited error) {
		_, wrote = l.Write(context.Background(), procfile.WriteRequest{Path: "d/f", Content: "new\n"})
		edits := []procfile.Edit{{Search: "old", Replace: "new"}}
		_, edited = l.Edit(context.Background(), procfile.EditRequest{Files: []procfile.FileEdit{{Path: "a", Edits: edits}, {Path: "d/f", Edits: edits}}})
		return wrote, edited
	}
	check := func(t *testing.T, why string, wrote, edited error) {
		t.Helper()
		require.ErrorContains(t, wrote, why)
		require.ErrorIs(t, wrote, errors.ErrUnsupported)
		require.ErrorIs(t, edited, errors.ErrUnsupported)
		for _, name := range []string{"a", "d/f"} {
			data, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			require.Equal(t, "old\n", string(data))
		}
		names, err := filepath.Glob(filepath.Join(dir, "*", ".*"))
		require.NoError(t, err)
		require.Empty(t, names)
	}
	t.Run("in a directory that cannot be written", func(t *testing.T) {
		for name, mode := range map[string]os.FileMode{"d/f": 0o666, "a": 0o666, "d": 0o555, ".": 0o777, "..": 0o755} {
			require.NoError(t, os.Chmod(filepath.Join(dir, name), mode))
		}
		var wrote, edited error
		done := make(chan struct{})
		go func() { // the test waits for it
			defer close(done)
			runtime.LockOSThread() // it ends with its rights
			if os.Getuid() == 0 {
				_ = unix.Setfsgid(65534)
				_ = unix.Setfsuid(65534) // else the file is written, and the test fails
			}
			wrote, edited = change()
		}()
		<-done
		require.NoError(t, os.Chmod(filepath.Join(dir, "d"), 0o700))
		check(t, "no file can be made in its directory", wrote, edited)
	})
	t.Run("a mount point", func(t *testing.T) {
		root(t)
		if err := unix.Mount(filepath.Join(dir, "other"), filepath.Join(dir, "d/f"), "", unix.MS_BIND, ""); err != nil {
			t.Skipf("a file cannot be mounted: %v", err)
			return
		}
		t.Cleanup(func() { require.NoError(t, unix.Unmount(filepath.Join(dir, "d/f"), unix.MNT_DETACH)) })
		wrote, edited := change()
		check(t, "it is a mount point", wrote, edited)
	})
}

// What a new file has not is told.
func TestLost(t *testing.T) {
	t.Parallel()
	l, dir := newLocal(t)
	name := filepath.Join(dir, "f")
	require.NoError(t, os.WriteFile(name, []byte("a\n"), 0o600))
	require.NoError(t, os.Link(name, filepath.Join(dir, "g")))
	want := []string{"1 further hard link"}
	if err := unix.Setxattr(name, "user.note", []byte("x"), 0); err == nil {
		want = []string{"user.note", "1 further hard link"}
	} else {
		require.ErrorIs(t, err, unix.ENOTSUP)
	}
	edited, err := l.Edit(t.Context(), procfile.EditRequest{Files: []procfile.FileEdit{{Path: "f", Edits: []procfile.Edit{{Search: "a", Replace: "b"}}}}})
	require.NoError(t, err)
	require.Equal(t, want, edited.Files[0].Lost)
	wrote, err := l.Write(t.Context(), procfile.WriteRequest{Path: "f", Content: "c\n"})
	require.NoError(t, err)
	require.Empty(t, wrote.Lost)
	wrote, err = l.Write(t.Context(), procfile.WriteRequest{Path: "g", Content: "c\n"})
	require.NoError(t, err)
	require.ElementsMatch(t, want[:len(want)-1], wrote.Lost)
}

// A disk that fills in the middle: the file is as it was, and nothing is left behind.
func TestFullDisk(t *testing.T) {
	root(t)
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("a tmpfs cannot be mounted: %v", err)
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
	require.NoError(t, os.Remove(filepath.Join(dir, "d", "e")), "the directory is empty")
	require.NoError(t, os.Remove(filepath.Join(dir, "d")))
	// Two files, and the second has no room.
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

// A read that waits ends, and with its context at once.
func TestReadWaits(t *testing.T) {
	t.Parallel()
	root(t)
	l, err := procfile.NewLocal(&procfile.LocalOptions{})
	require.NoError(t, err)
	if _, err := l.Read(t.Context(), procfile.ReadRequest{Path: "/proc/kmsg"}); !errors.Is(err, procfile.ErrNotText) {
		require.ErrorIs(t, err, fs.ErrPermission, "no other reason")
		t.Skipf("the kernel's messages cannot be read: %v", err)
	}
	_, err = l.Edit(t.Context(), procfile.EditRequest{Files: []procfile.FileEdit{{Path: "/proc/kmsg", Edits: []procfile.Edit{{Search: "a", Replace: "b"}}}}})
	require.ErrorIs(t, err, procfile.ErrNotText)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { // the test waits for it
		_, err := l.Read(ctx, procfile.ReadRequest{Path: "/proc/kmsg"})
		ended <- err
	}()
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	res, err := l.Read(t.Context(), procfile.ReadRequest{Path: "/proc/self/mounts", Offset: -1})
	require.NoError(t, err)
	require.Len(t, res.Lines, 1)
}

// The time of a read is bounded, whatever the size: the beginning of the file is returned,
// and its end only if that was found.
func TestHeldSparseFile(t *testing.T) {
	held(t)
	l, dir := newLocal(t)
	f, err := os.Create(filepath.Join(dir, "f"))
	require.NoError(t, err)
	_, err = f.WriteString("first\nsecond\n")
	require.NoError(t, err)
	require.NoError(t, f.Truncate(1<<40))
	require.NoError(t, f.Close())
	began := time.Now()
	res, err := l.Read(t.Context(), procfile.ReadRequest{Path: "f", Limit: 2})
	require.NoError(t, err)
	require.Equal(t, []procfile.Line{{Text: "first"}, {Text: "second"}}, res.Lines)
	require.True(t, res.Partial)
	require.Equal(t, int64(1<<40), res.Size)
	_, err = l.Read(t.Context(), procfile.ReadRequest{Path: "f", Offset: -2})
	require.ErrorIs(t, err, procmgr.ErrLimit)
	require.Less(t, time.Since(began), 40*time.Second)
}

// A file of 1 GB is read by lines in bounded memory, from its beginning and its end.
func TestHeldHugeFile(t *testing.T) {
	held(t)
	l, dir := newLocal(t)
	f, err := os.Create(filepath.Join(dir, "f"))
	require.NoError(t, err)
	_, err = f.WriteString("first\nsecond\n")
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("\nlast but one\nlast\n"), 1<<30)
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
