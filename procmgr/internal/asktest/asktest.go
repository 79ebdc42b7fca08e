// Package asktest has programs that ask and wait for input, and programs that are
// silent and do not. Only tests import it.
package asktest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
)

// A Program is a command with a stdin.
type Program struct {
	Name    string
	Command string
	Pipe    bool     // its stdin is a pipe, and no terminal
	Secret  bool     // it asks for a password
	Needs   []string // programs; "root" is the right of root
	Setup   string   // a command that runs before it, in the same new directory
	After   string   // it may ask until it has printed this
}

// Asking are programs that ask. Those are named first that a short test takes.
var Asking = []Program{
	{Name: "read", Command: `read -r x`, Pipe: true},
	{Name: "prompt", Command: `bash -c 'read -rp "Overwrite? [y/N] " x'`, Needs: []string{"bash"}},
	{Name: "password", Command: `bash -c 'read -rsp "Password: " x'`, Secret: true, Needs: []string{"bash"}},
	{Name: "go, bufio", Command: play + "=bufio " + self},
	{Name: "a child on the pipe", Command: `sh -c 'echo "name?"; read -r x; echo "$x"'; true`, Pipe: true},
	{Name: "cat on a terminal", Command: `cat | sleep 600`},
	{Name: "input", Command: `python3 -c 'input("name? ")'`, Needs: []string{"python3"}},
	{Name: "getpass", Command: `python3 -c 'import getpass; getpass.getpass()'`, Secret: true, Needs: []string{"python3"}},
	{Name: "pdb", Command: `python3 -m pdb x.py`, Pipe: true, Needs: []string{"python3"}, Setup: `echo 'print(1)' >x.py`},
	{Name: "python, a thread", Command: `python3 -c 'import threading; t = threading.Thread(target=input, args=("name? ",)); t.start(); t.join()'`, Needs: []string{"python3"}},
	{Name: "python, beside a thread that sleeps", Command: python(`
		import threading, time
		threading.Thread(target=time.sleep, args=(600,)).start(); input("name? ")`), Needs: []string{"python3"}},
	{Name: "asyncio's executor", Command: python(`
		import asyncio
		async def ask():
			await asyncio.get_running_loop().run_in_executor(None, input, "name? ")
		asyncio.run(ask())`), Needs: []string{"python3"}},
	{Name: "another terminal", Command: `python3 -c 'import pty; pty.spawn(["sh", "-c", "read x"])'`, Needs: []string{"python3"}},
	{Name: "script", Command: `script -qec 'read -r x' /dev/null`, Needs: []string{"script"}},
	{Name: "script on a pipe", Command: `script -qec 'read -r x' /dev/null`, Pipe: true, Needs: []string{"script"}},
	{Name: "script, a password", Command: `script -qec "bash -c 'read -rsp Password: x'" /dev/null`, Secret: true, Needs: []string{"script", "bash"}},
	{Name: "sudo's own terminal", Command: `sudo sh -c 'read -r x'`, Needs: []string{"sudo", "root"}},
	{Name: "poll", Command: python(`
		import select, os
		r, w = os.pipe()
		p = select.poll(); p.register(0, select.POLLIN); p.register(r, select.POLLIN)
		print("ready?", flush=True); p.poll()`), Pipe: true, Needs: []string{"python3"}},
	{Name: "poll with a pair of sockets", Command: python(`
		import select, socket
		a, b = socket.socketpair()
		p = select.poll(); p.register(0, select.POLLIN); p.register(a, select.POLLIN); p.poll()`), Pipe: true, Needs: []string{"python3"}},
	{Name: "select with a timeout", Command: python(`
		import select
		print("ready?", flush=True); select.select([0], [], [], 600)`), Needs: []string{"python3"}},
	{Name: "epoll", Command: python(`
		import select
		p = select.epoll(); p.register(0, select.EPOLLIN)
		print("ready?", flush=True); p.poll()`), Pipe: true, Needs: []string{"python3"}},
	{Name: "node, a question", Command: `node -e 'require("readline").createInterface({input: process.stdin, output: process.stdout}).question("name? ", () => {})'`, Needs: []string{"node"}},
	{Name: "node", Command: `node`, Needs: []string{"node"}},
	{Name: "npm init", Command: `npm init --no-update-notifier`, Needs: []string{"npm"}},
	{Name: "ssh", Command: `unset SSH_ASKPASS_REQUIRE; ssh -F /dev/null -o UserKnownHostsFile=known -o GlobalKnownHostsFile=none -o ProxyCommand="$(command -v sshd) -i -f config" nobody@nowhere`, Needs: []string{"ssh", "sshd", "ssh-keygen", "root"},
		Setup: `ssh-keygen -q -t ed25519 -N "" -f key && printf 'HostKey %s/key\nUsePAM no\n' "$PWD" >config && mkdir -p /run/sshd`},
	{Name: "ssh-keygen", Command: `unset SSH_ASKPASS_REQUIRE; ssh-keygen -q -f key`, Secret: true, Needs: []string{"ssh-keygen"}},
	{Name: "su", Command: `setpriv --reuid 65534 --clear-groups su root`, Secret: true, Needs: []string{"setpriv", "su", "root"}},
	{Name: "sqlite3", Command: `sqlite3`, Needs: []string{"sqlite3"}},
	{Name: "gdb", Command: `gdb -q -nx`, Needs: []string{"gdb"}},
	{Name: "fzf", Command: `printf 'a\nb\n' | fzf`, Needs: []string{"fzf"}},
	{Name: "less", Command: `less /etc/passwd`, Needs: []string{"less"}},
	{Name: "less behind a pipe", Command: `cat /etc/passwd | less`, Needs: []string{"less"}},
	{Name: "vim", Command: `vim -u NONE x`, Needs: []string{"vim"}},
	{Name: "dialog", Command: `dialog --yesno really? 10 30`, Needs: []string{"dialog"}},
	{Name: "bash -i", Command: `bash --norc -i`, Needs: []string{"bash"}},
	{Name: "bash -i with a job", Command: `bash --norc -ic 'sleep 600 & exec bash --norc -i'`, Needs: []string{"bash"}},
}

// Silent are programs that are silent for minutes, or would be, and do not wait for
// input. Those are named first that a short test takes.
var Silent = []Program{
	{Name: "a select every 0.2 s", Command: python(`
		import select
		while not select.select([0], [], [], 0.2)[0]: pass`), Pipe: true, Needs: []string{"python3"}},
	{Name: "sleep", Command: `sleep 600`},
	{Name: "a question, and sleep", Command: `printf 'Overwrite? [y/N] '; sleep 600`},
	{Name: "another pipe", Command: `sleep 600 | cat`, Pipe: true},
	{Name: "a background read", Command: `set -m; cat & sleep 600`},
	{Name: "wait", Command: `sleep 600 & wait`},
	{Name: "go, sleep", Command: play + "=sleep " + self},
	{Name: "a stopped read", Command: `sh -c 'while [ "$(cut -d" " -f3 /proc/$PPID/stat)" != S ]; do :; done; kill -STOP $PPID; echo stopped' & read -r x`, Pipe: true, After: "stopped"},
	{Name: "stdin at its end", Command: `cat </dev/null; sleep 600`, Pipe: true},
	{Name: "a fifo", Command: `mkfifo f; cat f`},
	{Name: "a write", Command: `mkfifo f; sleep 600 <>f & yes >f`},
	{Name: "busy", Command: `timeout 30 sh -c 'while :; do :; done'`},
	{Name: "a lock", Command: `exec 9>f; flock 9; flock f true`, Needs: []string{"flock"}},
	{Name: "tail -f", Command: `tail -f f`, Setup: `: >f`},
	{Name: "a futex", Command: `python3 -c 'import threading; threading.Event().wait()'`, Needs: []string{"python3"}},
	{Name: "a signal", Command: `python3 -c 'import signal; signal.sigwait([signal.SIGUSR1])'`, Needs: []string{"python3"}},
	{Name: "a child that waits for its parent", Command: python(`
		import os, time
		r, w = os.pipe()
		if os.fork(): time.sleep(600)
		os.read(r, 1)`), Pipe: true, Needs: []string{"python3"}},
	{Name: "poll with a socket", Command: python(`
		import select, socket
		s = socket.create_server(("127.0.0.1", 0))
		p = select.poll(); p.register(0, select.POLLIN); p.register(s, select.POLLIN); p.poll()`), Pipe: true, Needs: []string{"python3"}},
	{Name: "select with a child's pipe", Command: python(`
		import select, subprocess
		c = subprocess.Popen(["sleep", "600"], stdout=subprocess.PIPE)
		select.select([0, c.stdout], [], [])`), Needs: []string{"python3"}},
	{Name: "select with a pipe that a child has too", Command: python(`
		import os, select, time
		r, w = os.pipe()
		if not os.fork(): os.close(0); time.sleep(600)
		select.select([0, r], [], [])`), Pipe: true, Needs: []string{"python3"}},
	{Name: "a poll every second", Command: python(`
		import select
		p = select.poll(); p.register(0, select.POLLIN)
		while not p.poll(1000): pass`), Needs: []string{"python3"}},
	{Name: "an epoll every second, by single keys", Command: python(`
		import select, tty
		tty.setraw(0); p = select.epoll(); p.register(0, select.EPOLLIN)
		while not p.poll(1): pass`), Needs: []string{"python3"}},
	{Name: "top", Command: `top`, Needs: []string{"top"}},
	{Name: "poll for nothing", Command: python(`
		import select
		p = select.poll(); p.register(0, 0); p.poll()`), Needs: []string{"python3"}},
	{Name: "epoll, edge-triggered", Command: python(`
		import select
		p = select.epoll(); p.register(0, select.EPOLLIN | select.EPOLLET); p.poll()`), Pipe: true, Needs: []string{"python3"}},
	{Name: "epoll that is left over", Command: python(`
		import select
		p = select.epoll(); p.register(0, select.EPOLLIN); p.poll(600)`), Pipe: true, Needs: []string{"python3"}},
	{Name: "a thread that works", Command: python(`
		import threading, time
		def work():
			end = time.time() + 30
			while time.time() < end: pass
		threading.Thread(target=work).start(); input()`), Pipe: true, Needs: []string{"python3"}},
	{Name: "a thread that asks beside a program that sleeps", Command: python(`
		import threading, time
		threading.Thread(target=input, daemon=True).start(); time.sleep(600)`), Needs: []string{"python3"}},
	{Name: "asyncio's executor, and a child's socket", Command: python(`
		import asyncio, os, socket, time
		a, b = socket.socketpair(); b.set_inheritable(True)
		if not os.fork(): a.close(); os.close(0); time.sleep(600)
		b.close(); a.setblocking(False)
		async def ask():
			loop = asyncio.get_running_loop()
			await asyncio.gather(loop.run_in_executor(None, input), loop.sock_recv(a, 1))
		asyncio.run(ask())`), Needs: []string{"python3"}},
	{Name: "another terminal, and sleep", Command: `script -qec 'sleep 600' /dev/null`, Needs: []string{"script"}},
	{Name: "another terminal, in the background", Command: `script -qec 'set -m; cat & sleep 600' /dev/null`, Needs: []string{"script"}},
	{Name: "node, a timer", Command: `node -e 'setTimeout(() => {}, 600000)'`, Needs: []string{"node"}},
	{Name: "node, a timer after a question", Command: node(`rl.close(); setTimeout(() => {}, 600000)`), Needs: []string{"node"}},
	{Name: "node, a child after a question", Command: node(`rl.close(); require("child_process").spawn("sleep", ["600"], {stdio: "inherit"})`), Needs: []string{"node"}},
	{Name: "another session", Command: `setsid -w sh -c 'read x'`, Needs: []string{"setsid"}},
	{Name: "a forged name", Command: `python3 -c 'import time; open("/proc/self/comm", "w").write("sudo"); print("[sudo] password for root: ", end="", flush=True); time.sleep(600)'`, Needs: []string{"python3"}},
}

// python returns a command that runs a script.
func python(script string) string {
	return "python3 -c '" + strings.ReplaceAll(script, "\n\t\t", "\n") + "'"
}

// node returns a command that asks and answers a question itself, and then goes on.
func node(then string) string {
	return `node -e 'const rl = require("readline").createInterface({input: process.stdin, output: process.stdout}); rl.question("name? ", () => {}); setTimeout(() => {` + then + `}, 50)'`
}

const (
	play = "TOOLPROC_ASKTEST" // the variable that makes a test a program
	self = "$TOOLPROC_SELF"   // the path of the test
)

// Play makes a test one of the programs if it runs as such. TestMain calls it first.
func Play() {
	switch os.Getenv(play) {
	case "bufio":
		fmt.Print("name? ")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	case "sleep":
		go func() { // it keeps a thread awake now and then; the program's end ends it
			for range time.Tick(10 * time.Millisecond) {
				fmt.Print("")
			}
		}()
		time.Sleep(10 * time.Minute)
	default:
		return
	}
	os.Exit(0)
}

// long is a time that a test reaches only if something is wrong.
const long = time.Minute

// Check runs the first of the programs, or all of them if n is 0: m has to tell of each
// that asks, and of none that is silent.
func Check(t *testing.T, m procmgr.Manager, n int) {
	t.Helper()
	first := func(all []Program) []Program {
		if n == 0 {
			return all
		}
		return all[:n]
	}
	t.Run("asks", func(t *testing.T) {
		for _, p := range first(Asking) {
			t.Run(p.Name, func(t *testing.T) {
				t.Parallel()
				checkAsking(t, m, p)
			})
		}
	})
	t.Run("soon", func(t *testing.T) { checkSoon(t, m) })
	t.Run("is silent", func(t *testing.T) {
		for _, p := range first(Silent) {
			t.Run(p.Name, func(t *testing.T) { checkSilent(t, m, p) })
		}
	})
}

// begin starts a program in a new directory. The test ends it.
func begin(t *testing.T, m procmgr.Manager, p Program) procmgr.Output {
	t.Helper()
	for _, need := range p.Needs {
		if need == "root" {
			testenv.Root(t)
		} else {
			testenv.Programs(t, need)
		}
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	if p.Setup != "" {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", p.Setup)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	exe, err := os.Executable()
	require.NoError(t, err)
	req := procmgr.StartRequest{Command: p.Command, WorkDir: dir, Stdin: procmgr.StdinTerminal, Env: map[string]string{"TOOLPROC_SELF": exe, "HOME": dir}}
	if p.Pipe {
		req.Stdin = procmgr.StdinPipe
	}
	out, err := m.Start(t.Context(), req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = m.Signal(context.Background(), out.Process.ID, procmgr.Kill) })
	return out
}

// checkAsking waits until a program asks, and then for the manager to say so.
func checkAsking(t *testing.T, m procmgr.Manager, p Program) {
	out := begin(t, m, p)
	id := out.Process.ID
	began := time.Now()
	out, err := m.Output(t.Context(), id, procmgr.OutputRequest{Wait: long, UntilWaiting: true})
	require.NoError(t, err)
	require.NotNil(t, out.Process.Waiting, "%q", out.Text)
	require.Less(t, time.Since(began), long)
	require.Equal(t, p.Secret, out.Process.Waiting.Secret)
	require.NotZero(t, out.Process.Waiting.PID)
	require.NotEmpty(t, out.Process.Waiting.Program)
	t.Logf("%v: %s", time.Since(began).Round(time.Millisecond), out.Process.Waiting.Program)
	// A program may do something for a moment and wait on: fzf draws again.
	require.Eventually(t, func() bool {
		list, err := m.List(t.Context(), procmgr.ListRequest{})
		return err == nil && slices.ContainsFunc(list.Processes, func(one procmgr.Process) bool {
			return one.ID == id && one.Waiting != nil && one.Waiting.PID == out.Process.Waiting.PID
		})
	}, long, 10*time.Millisecond)
}

// checkSoon has programs that say when they ask: a call has to return within a second of
// that, of the median of some.
func checkSoon(t *testing.T, m procmgr.Manager) {
	program := Program{Command: `bash -c 'printf "%s\n? " "$EPOCHREALTIME"; read -r x'`, Needs: []string{"bash"}}
	var took []time.Duration
	for range 5 {
		id := begin(t, m, program).Process.ID
		out, err := m.Output(t.Context(), id, procmgr.OutputRequest{Wait: long, UntilWaiting: true})
		now := time.Now()
		require.NoError(t, err)
		require.NotNil(t, out.Process.Waiting)
		printed, _, _ := strings.Cut(out.Text, "\n")
		at, err := strconv.ParseFloat(strings.TrimSpace(printed), 64)
		require.NoError(t, err, "%q", out.Text)
		took = append(took, now.Sub(time.UnixMicro(int64(at*1e6))))
	}
	slices.Sort(took)
	t.Logf("told after %v", took)
	require.Less(t, took[len(took)/2], time.Second)
}

// silence is for how long a program that is silent is watched.
const silence = 3 * time.Second

// checkSilent sees to it that the manager does not take a program for one that asks.
func checkSilent(t *testing.T, m procmgr.Manager, p Program) {
	t.Parallel() // before it begins: a test may have to wait for its turn
	out := begin(t, m, p)
	if p.After != "" {
		out, err := m.Output(t.Context(), out.Process.ID, procmgr.OutputRequest{Wait: long, Until: p.After})
		require.NoError(t, err)
		require.Contains(t, out.Text, p.After)
	}
	for began := time.Now(); time.Since(began) < silence; {
		out, err := m.Output(t.Context(), out.Process.ID, procmgr.OutputRequest{Wait: silence / 8, UntilWaiting: true})
		require.NoError(t, err)
		require.Nil(t, out.Process.Waiting, "%+v: %q", out.Process.Waiting, out.Text)
	}
	_ = m.Signal(t.Context(), out.Process.ID, procmgr.Kill) // some have ended
}
