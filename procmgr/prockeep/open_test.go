//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// A keeper is a Host like any other.
func TestHeldHost(t *testing.T) {
	testenv.Held(t)
	k := open(t, newDir(t), nil)
	proctest.TestHost(t, func(*testing.T) procmgr.Host { return k })
}

// Others can neither enter the directory nor connect.
func TestModes(t *testing.T) {
	dir := newDir(t)
	open(t, dir, nil)
	for name, mode := range map[string]os.FileMode{
		"": os.ModeDir | 0o700, "lock": 0o600, "keeper": os.ModeSocket | 0o600, "keeper.log": 0o600,
	} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode(), name)
	}
}

// Programs that open a directory at the same instant get the same keeper.
func TestSameInstant(t *testing.T) {
	dir := newDir(t)
	var programs []*exec.Cmd
	for range 6 {
		programs = append(programs, program(t, "keeper's pid", dir))
	}
	said := make([]string, len(programs))
	var wg sync.WaitGroup
	for i, p := range programs {
		wg.Go(func() {
			out, err := p.Output()
			said[i] = string(out)
			if err != nil {
				said[i] = err.Error()
			}
		})
	}
	k := open(t, dir, nil)
	wg.Wait()
	for _, pid := range said {
		require.Equal(t, said[0], pid)
	}
	require.Equal(t, said[0], run(t, k, "echo $PPID").Text)
}

// A program that has not called Main is not started once more: it would do its
// work a second time.
func TestForgotMain(t *testing.T) {
	cmd := program(t, "forgot", newDir(t))
	cmd.Stderr = nil
	_, err := cmd.Output()
	var failed *exec.ExitError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, "prockeep: open: this program has not called prockeep.Main, so it cannot be started again as a keeper: "+
		"call it first in main (in a test, in TestMain), or set Options.Path: invalid request\n", string(failed.Stderr))
}

func TestPath(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	dir := newDir(t)
	k := open(t, dir, &prockeep.Options{Path: self})
	require.Equal(t, self, k.Options().Path)
	require.NotEmpty(t, run(t, k, "echo yes").Text)

	script := filepath.Join(t.TempDir(), "script")
	for name, test := range map[string]struct{ text, problem string }{
		"a program without Main":      {"#!/bin/sh\ncat\necho 'what am I?' >&2\n", "did not become one (its last words: what am I?); its main function has to call prockeep.Main"},
		"a program that says nothing": {"#!/bin/sh\n", "did not become one; its main function"},
		"no program":                  {"\x00", "cannot be started"},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(script, []byte(test.text), 0o700))
			_, err := prockeep.Open(t.Context(), newDir(t), &prockeep.Options{Path: script})
			require.ErrorContains(t, err, test.problem)
		})
	}
	_, err = prockeep.Open(t.Context(), newDir(t), &prockeep.Options{Path: filepath.Join(dir, "missing")})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A program that may have few files open at once starts a keeper. If these are too few,
// the error names the limit.
func TestFewFiles(t *testing.T) {
	for files, works := range map[int]bool{24: false, 48: true, 64: true, 72: true} {
		t.Run(strconv.Itoa(files), func(t *testing.T) {
			dir := newDir(t)
			cmd := program(t, "keeper's pid", dir)
			cmd.Args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$0" "$@"`, files), cmd.Path}, cmd.Args[1:]...)
			cmd.Path = "/bin/sh"
			var said bytes.Buffer
			cmd.Stderr = &said
			if err := cmd.Run(); works {
				require.NoError(t, err, "%s", &said)
				require.NoError(t, open(t, dir, nil).Close())
			} else {
				require.Error(t, err)
				require.Contains(t, said.String(), fmt.Sprintf("too many open files; the keeper may have %d files open at once: raise that limit (ulimit -n)", files))
			}
		})
	}
}

// Whoever may run a setuid program must not leave it running in the background.
func TestSetuid(t *testing.T) {
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		testenv.Lacks(t, "proc", "%v", err)
	}
	path := filepath.Join(t.TempDir(), "program")
	for _, mode := range []os.FileMode{os.ModeSetuid, os.ModeSetgid} {
		require.NoError(t, os.WriteFile(path, self, 0o700))
		require.NoError(t, os.Chmod(path, mode|0o700))
		_, err = prockeep.Open(t.Context(), newDir(t), &prockeep.Options{Path: path})
		require.ErrorIs(t, err, procmgr.ErrInvalid)
		require.ErrorContains(t, err, "setuid or setgid")
	}
}

func TestDirectory(t *testing.T) {
	t.Run("others can enter", func(t *testing.T) {
		dir := newDir(t)
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.NoError(t, os.Chmod(dir, 0o777)) //nolint:gosec // the test is about that
		open(t, dir, nil)
		info, err := os.Stat(dir)
		require.NoError(t, err)
		require.Equal(t, os.ModeDir|0o700, info.Mode())
	})
	t.Run("somebody else's", func(t *testing.T) {
		testenv.Root(t)
		dir := newDir(t)
		require.NoError(t, os.Mkdir(dir, 0o700))
		require.NoError(t, os.Chown(dir, 65534, 65534))
		refused(t, dir, dir+" belongs to another user")
		own := newDir(t)
		require.NoError(t, os.Mkdir(own, 0o700))
		link := newDir(t)
		require.NoError(t, os.Symlink(own, link))
		require.NoError(t, os.Lchown(link, 65534, 65534))
		refused(t, link, link+" belongs to another user")
	})
	t.Run("a file", func(t *testing.T) {
		dir := newDir(t)
		require.NoError(t, os.WriteFile(dir, nil, 0o600))
		_, err := prockeep.Open(t.Context(), dir, nil)
		require.Error(t, err)
	})
	t.Run("no name", func(t *testing.T) { refused(t, "", "has no name") })
	t.Run("relative", func(t *testing.T) {
		dir := newDir(t)
		t.Chdir(filepath.Dir(dir))
		pid := keeperPID(t, open(t, filepath.Base(dir), nil))
		t.Chdir("/")
		require.Equal(t, pid, keeperPID(t, open(t, dir, nil)))
	})
}

func refused(t *testing.T, dir, problem string) {
	t.Helper()
	_, err := prockeep.Open(t.Context(), dir, nil)
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	require.ErrorContains(t, err, problem)
}

// The path of a socket has a limit. The longest directory that is not refused
// works.
func TestLongPath(t *testing.T) {
	dir := newDir(t)
	dir += strings.Repeat("x", prockeep.MaxDirectory-len(dir))
	open(t, dir, nil)
	refused(t, dir+"x", "no socket can be in it")
}
