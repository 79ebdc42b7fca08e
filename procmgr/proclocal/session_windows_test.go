package proclocal_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// self is a shell whose commands TestPlayed carries out.
func self(t testing.TB) []string {
	file, err := os.Executable()
	require.NoError(t, err)
	return []string{file, "-test.run=^TestPlayed$"}
}

// TestPlayed is the other side of the tests below: the test binary plays the
// shell. Without a command it does nothing.
func TestPlayed(*testing.T) {
	if flag.NArg() == 0 {
		return
	}
	verb, rest, _ := strings.Cut(flag.Arg(0), " ")
	switch verb {
	case "exit":
		code, _ := strconv.ParseUint(rest, 10, 32)
		windows.ExitProcess(uint32(code))
	case "env":
		for _, kv := range os.Environ() {
			fmt.Println(kv)
		}
	case "tree": // as many processes deep
		fmt.Println("pid", os.Getpid())
		if n, _ := strconv.Atoi(rest); n > 1 {
			startSelf("tree " + strconv.Itoa(n-1))
		} else {
			fmt.Println("ready")
		}
		time.Sleep(time.Hour)
	case "leave":
		startSelf("tree 2")
		os.Exit(5)
	case "host": // dies and closes nothing
		l, err := proclocal.New(&proclocal.Options{Shell: []string{os.Args[0], os.Args[1]}})
		if err != nil {
			panic(err)
		}
		out, err := l.Start(context.Background(), procmgr.StartRequest{Command: "tree 2"})
		if err != nil {
			panic(err)
		}
		out, _ = l.Output(context.Background(), out.Process.ID, procmgr.OutputRequest{Until: "ready", Wait: long})
		fmt.Print(out.Text)
	}
	os.Exit(0)
}

func startSelf(command string) {
	cmd := exec.Command(os.Args[0], os.Args[1], command)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
	}
}

// pidsOf returns the processes that a tree has named. Each is held open, so
// that its number stays its own.
func pidsOf(t *testing.T, text string) map[int]windows.Handle {
	t.Helper()
	all := map[int]windows.Handle{}
	for line := range strings.Lines(text) {
		if pid, ok := strings.CutPrefix(strings.TrimSpace(line), "pid "); ok {
			handle, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(atoi(t, pid)))
			if err == nil {
				t.Cleanup(func() { _ = windows.CloseHandle(handle) })
			}
			all[atoi(t, pid)] = handle // 0: it has gone
		}
	}
	return all
}

// lives reports whether a process has not exited.
func lives(process windows.Handle) bool {
	event, _ := windows.WaitForSingleObject(process, 0)
	return process != 0 && event == uint32(windows.WAIT_TIMEOUT)
}

// A process that ends by itself takes its time; one that Close ends does not.
func TestCloseEndsJobs(t *testing.T) {
	l, err := proclocal.New(&proclocal.Options{Shell: self(t)})
	require.NoError(t, err)
	running := begin(t, l, "tree 2")
	left := run(t, l.Chat("a"), "leave")
	pids := pidsOf(t, running.Text)
	began := time.Now()
	require.NoError(t, l.Close())
	require.Less(t, time.Since(began), 5*time.Second)
	for pid, handle := range pids {
		require.False(t, lives(handle), "pid %d", pid)
	}
	for id, code := range map[string]int{running.Process.ID: 143, left.Process.ID: 5} {
		out := output(t, l, id, procmgr.OutputRequest{})
		require.Equal(t, procmgr.Exited, out.Process.State)
		require.Equal(t, code, *out.Process.ExitCode)
		require.Equal(t, procmgr.CauseShutdown, out.Process.EndedBy)
	}
}

// A program that dies without Close leaves nothing behind.
func TestHostDies(t *testing.T) {
	shell := self(t)
	text, err := exec.Command(shell[0], shell[1], "host").CombinedOutput()
	require.NoError(t, err, "%s", text)
	pids := pidsOf(t, string(text))
	require.Len(t, pids, 2, "%s", text)
	for pid, handle := range pids {
		eventually(t, fmt.Sprint("pid ", pid, " ends"), func() bool { return !lives(handle) })
	}
}

// Two names of variables that differ only in case are one name.
func TestEnvFoldsNames(t *testing.T) {
	t.Setenv("Mixed_Case", "host")
	env := func(o proclocal.Options, req map[string]string) map[string]string {
		o.Shell = self(t)
		l := newLocal(t, &o)
		out := start(t, l, procmgr.StartRequest{ID: "x", Command: "env", Env: req, Wait: long})
		all := map[string]string{}
		for line := range strings.Lines(out.Text) {
			name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
			name = strings.ToUpper(name)
			require.NotContains(t, all, name)
			all[name] = value
		}
		return all
	}
	require.Equal(t, "host", env(proclocal.Options{}, nil)["MIXED_CASE"])
	all := env(proclocal.Options{}, map[string]string{"MIXED_case": "request", "toolproc_process_id": "forged"})
	require.Equal(t, "request", all["MIXED_CASE"])
	require.Equal(t, "x", all["TOOLPROC_PROCESS_ID"])
	require.NotEmpty(t, all["SYSTEMROOT"])
	all = env(proclocal.Options{Env: envpolicy.Policy{IncludeOnly: []string{}}}, nil)
	require.NotContains(t, all, "MIXED_CASE")
	require.NotEmpty(t, all["SYSTEMROOT"], "hardly a program starts without it")
}

// The paths that a shell prints are directories.
func TestDirectoryOfADrive(t *testing.T) {
	dir := t.TempDir()
	l := newLocal(t, &proclocal.Options{
		Shell:   self(t),
		WorkDir: filepath.Dir(dir), // the drive of a path that names none
	})
	drive, rest, _ := strings.Cut(filepath.ToSlash(dir), ":")
	for _, name := range []string{dir, filepath.ToSlash(dir), "/" + strings.ToLower(drive) + rest, rest} {
		out, err := l.Start(t.Context(), procmgr.StartRequest{Command: "exit 0", WorkDir: name, Wait: long})
		require.NoError(t, err, name)
		require.True(t, strings.EqualFold(dir, filepath.Clean(out.Process.WorkDir)), "%s is taken for %s", name, out.Process.WorkDir)
	}
}
