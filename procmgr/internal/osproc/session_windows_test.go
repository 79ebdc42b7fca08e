package osproc_test

import (
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// self is a shell whose commands TestPlayed runs.
func self(t testing.TB) []string {
	file, err := os.Executable()
	require.NoError(t, err)
	return []string{file, "-test.run=^TestPlayed$"}
}

// played runs text as a command of that shell, to its end.
func played(t testing.TB, s *osproc.System, text string) *command {
	t.Helper()
	c := start(t, s, append(self(t), text)...)
	c.wait(t)
	return c
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
	case "sleep":
		fmt.Print("ready")
		time.Sleep(time.Hour)
	default: // any other command, byte by byte
		fmt.Print(hex.EncodeToString([]byte(flag.Arg(0))))
	}
	os.Exit(0)
}

func TestPlayedExits(t *testing.T) {
	s := open(t, osproc.Config{})
	require.Equal(t, "a\nb!", played(t, s, "print a\nb").output(), "both streams, in order")
	require.Equal(t, "0 <nil>", played(t, s, "stdin").output(), "stdin is empty")
	for _, code := range []int{0, 3, 137, 255, 256, 0xC0000005, 0xFFFFFFFF} {
		end := played(t, s, "exit "+strconv.Itoa(code)).wait(t)
		require.Equal(t, code, *end.Code())
		require.Empty(t, end.SignalName(), "nobody has ended it")
	}
}

// A program gets its command unchanged.
func TestQuoting(t *testing.T) {
	s := open(t, osproc.Config{})
	for _, command := range []string{
		`x`, `"`, `""`, `\`, `\\`, `\"`, `\\"`, `a\`, `a b\`, `a b\\`, `"a b"`, `'a b'`, `%PATH%`, `a^b&c|d<e>f`, "a\nb\tc", `C:\dir\"x y"\`,
		"é€😀", `$HOME`, `*`, ` -x`, ` --help`, `@file`, `~`,
	} {
		text, err := hex.DecodeString(played(t, s, command).output())
		require.NoError(t, err)
		require.Equal(t, command, string(text))
	}
}

// cmd has rules of its own for its command.
func TestShellCmd(t *testing.T) {
	c := start(t, open(t, osproc.Config{}), "cmd", "/d", "/s", "/c", `echo "a b" "c"&exit 3`)
	require.Equal(t, 3, *c.wait(t).Code())
	require.Equal(t, "\"a b\" \"c\"\r\n", c.output())
}

func TestShellIsFound(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", filepath.Join(dir, "cmd"))
	s := open(t, osproc.Config{})
	_, err := s.Start(osproc.Command{Argv: []string{"sh", "-c", "true"}, Dir: dir})
	require.ErrorIs(t, err, sentinel.ErrInvalid)
	require.ErrorContains(t, err, `the shell "sh" is not there`)
	require.ErrorContains(t, err, "install Git for Windows or MSYS2 and put the directory of its sh.exe on PATH, or set Options.Shell")

	program, err := os.ReadFile(self(t)[0])
	require.NoError(t, err)
	for _, name := range []string{`cmd\git.exe`, `bin\sh.exe`} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), program, 0o700))
	}
	c := start(t, s, "sh", "-c", "true") // it takes no -c, but that is another matter
	c.wait(t)
	require.Contains(t, c.output(), "flag provided but not defined: -c", "the sh that comes with git")
}

func TestLongestCommandLine(t *testing.T) {
	s := open(t, osproc.Config{})
	shell := self(t)
	const longest = 1<<15 - 2
	rest := longest - len(shell[0]) - len(" "+shell[1]+" ")
	require.Len(t, played(t, s, strings.Repeat("x", rest)).output(), 2*rest)
	for _, n := range []int{rest + 1, 100_000} {
		_, err := s.Start(osproc.Command{Argv: append(self(t), strings.Repeat("x", n)), Dir: t.TempDir()})
		require.ErrorIs(t, err, sentinel.ErrInvalid)
		require.ErrorContains(t, err, "script file and run that")
	}
}

// A child inherits nothing but the three streams.
func TestInheritsNothingElse(t *testing.T) {
	var r, w windows.Handle
	require.NoError(t, windows.CreatePipe(&r, &w, nil, 0))
	defer windows.CloseHandle(r) //nolint:errcheck // nothing was written
	require.NoError(t, windows.SetHandleInformation(w, windows.HANDLE_FLAG_INHERIT, windows.HANDLE_FLAG_INHERIT))
	c := start(t, open(t, osproc.Config{}), append(self(t), "sleep")...)
	eventually(t, "it runs", func() bool { return c.output() == "ready" })
	require.NoError(t, windows.CloseHandle(w))
	var n uint32
	err := windows.ReadFile(r, make([]byte, 1), &n, nil)
	require.ErrorIs(t, err, windows.ERROR_BROKEN_PIPE, "nobody holds the other end")
}

var getProcessHandleCount = windows.NewLazySystemDLL("kernel32.dll").NewProc("GetProcessHandleCount")

// A process that has ended holds no handle.
func TestHandlesAreClosed(t *testing.T) {
	s := open(t, osproc.Config{})
	count := func() int {
		for range 10 {
			played(t, s, "exit 0")
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
