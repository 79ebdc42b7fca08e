package proclocal_test

import (
	"context"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/charset"
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
	case "print":
		fmt.Print(rest)
		fmt.Fprint(os.Stderr, "!")
	case "stdin":
		n, err := io.Copy(io.Discard, os.Stdin)
		fmt.Print(n, " ", err)
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
	default: // any other command, byte by byte
		fmt.Print(hex.EncodeToString([]byte(flag.Arg(0))))
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

func TestPlayedExits(t *testing.T) {
	l := newLocal(t, &proclocal.Options{Shell: self(t)})
	require.Equal(t, "a\nb!", run(t, l, "print a\nb").Text, "both streams, in order")
	require.Equal(t, "0 <nil>", run(t, l, "stdin").Text, "stdin is empty")
	for _, code := range []int{0, 3, 137, 255, 256, 0xC0000005, 0xFFFFFFFF} {
		p := run(t, l, "exit "+strconv.Itoa(code)).Process
		require.Equal(t, code, *p.ExitCode)
		require.Empty(t, p.Signal, "nobody has ended it")
	}
}

// A program gets its command unchanged.
func TestQuoting(t *testing.T) {
	l := newLocal(t, &proclocal.Options{Shell: self(t)})
	for _, command := range []string{
		`x`, `"`, `""`, `\`, `\\`, `\"`, `\\"`, `a\`, `a b\`, `a b\\`, `"a b"`, `'a b'`, `%PATH%`, `a^b&c|d<e>f`, "a\nb\tc", `C:\dir\"x y"\`,
		"é€😀", `$HOME`, `*`, ` -x`, ` --help`, `@file`, `~`,
	} {
		text, err := hex.DecodeString(run(t, l, command).Text)
		require.NoError(t, err)
		require.Equal(t, command, string(text))
	}
}

// cmd has rules of its own for its command.
func TestShellCmd(t *testing.T) {
	out := run(t, newLocal(t, &proclocal.Options{Shell: []string{"cmd", "/d", "/s", "/c"}}), `echo "a b" "c"&exit 3`)
	require.Equal(t, 3, *out.Process.ExitCode)
	require.Equal(t, "\"a b\" \"c\"\n", out.Text)
}

func TestShellIsFound(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", filepath.Join(dir, "cmd"))
	opts := &proclocal.Options{Shell: []string{"sh", "-c"}}
	_, err := proclocal.New(opts)
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	require.ErrorContains(t, err, `the shell "sh" is not there`)
	require.ErrorContains(t, err, "install Git for Windows or MSYS2 and put the directory of its sh.exe on PATH, or set Options.Shell")

	program, err := os.ReadFile(self(t)[0])
	require.NoError(t, err)
	for _, name := range []string{`cmd\git.exe`, `bin\sh.exe`} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), program, 0o700))
	}
	// It takes no -c, but that is another matter.
	require.Contains(t, run(t, newLocal(t, opts), "true").Text, "flag provided but not defined: -c", "the sh that comes with git")
}

func TestLongestCommandLine(t *testing.T) {
	shell := self(t)
	l := newLocal(t, &proclocal.Options{Shell: shell})
	const longest = 1<<15 - 2
	rest := longest - len(shell[0]) - len(" "+shell[1]+" ")
	require.EqualValues(t, 2*rest, run(t, l, strings.Repeat("x", rest)).Next)
	for _, n := range []int{rest + 1, 100_000} {
		_, err := l.Start(t.Context(), procmgr.StartRequest{Command: strings.Repeat("x", n)})
		require.ErrorIs(t, err, procmgr.ErrInvalid)
		require.ErrorContains(t, err, "script file and run that")
	}
}

// A child inherits nothing but the three streams.
func TestInheritsNothingElse(t *testing.T) {
	var r, w windows.Handle
	require.NoError(t, windows.CreatePipe(&r, &w, nil, 0))
	defer windows.CloseHandle(r) //nolint:errcheck // nothing was written
	require.NoError(t, windows.SetHandleInformation(w, windows.HANDLE_FLAG_INHERIT, windows.HANDLE_FLAG_INHERIT))
	begin(t, newLocal(t, &proclocal.Options{Shell: self(t)}), "tree 1")
	require.NoError(t, windows.CloseHandle(w))
	var n uint32
	err := windows.ReadFile(r, make([]byte, 1), &n, nil)
	require.ErrorIs(t, err, windows.ERROR_BROKEN_PIPE, "nobody holds the other end")
}

var getProcessHandleCount = windows.NewLazySystemDLL("kernel32.dll").NewProc("GetProcessHandleCount")

// A process that has ended holds no handle.
func TestHandlesAreClosed(t *testing.T) {
	l := newLocal(t, &proclocal.Options{Shell: self(t)})
	count := func() int {
		for range 10 {
			run(t, l, "exit 0")
		}
		var n uint32
		ok, _, err := getProcessHandleCount.Call(uintptr(windows.CurrentProcess()), uintptr(unsafe.Pointer(&n)))
		require.NotZero(t, ok, err)
		return int(n)
	}
	count() // the threads of Go itself come first
	before := count()
	count()
	require.Less(t, count(), before+15, "20 commands")
}

// Output that is not UTF-8 is decoded from the code page of the console, or from UTF-16,
// before everything else sees it.
func TestEncodingOfTheSystem(t *testing.T) {
	const command = `printf 'Gr\224\341e\n'; printf 'Größe\n'; printf 'D\000r\000\374\000\n\000'`
	want, utf16 := "Gr\ufffd\ufffde\n", "Größe\nDrü\n"
	if console := charset.System(); console != nil {
		decoded, err := console.NewDecoder().String("Gr\x94\xe1e\n")
		require.NoError(t, err)
		want = decoded
	}
	require.Equal(t, want+utf16, run(t, newLocal(t, nil), command).Text)
}
