package osproc_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// These are the ways to find what a command has started. Each has its column in
// docs/processes.md.
var ways = []string{"slice", "late mark", "cgroup"}

func wayOf(t *testing.T, way string) *osproc.System {
	switch way {
	case "late mark":
		return open(t, osproc.Config{NoSlice: true})
	case "cgroup":
		return open(t, osproc.Config{Cgroup: testenv.Cgroup(t)})
	}
	return open(t, osproc.Config{})
}

// Processes that a command starts and leaves behind are found and ended in the ways
// listed in the table in docs/processes.md, even if they run as another user, and are
// reported as living until then.
func TestHeldFound(t *testing.T) {
	testenv.Held(t)
	tests := []struct {
		name   string
		script string // DIR is a directory, CHILD a command that lives until it is killed
		is     string // the name of the process that is left behind, if it is not sleep
		needs  string // programs
		misses string // the ways that do not find it
	}{
		{name: "x &", script: "CHILD &"},
		{name: "x & with its output elsewhere", script: "CHILD >/dev/null 2>&1 &"},
		{name: "double fork", script: "(sh -c 'CHILD & exit' &) >/dev/null 2>&1"},
		{name: "setsid", script: "setsid CHILD >/dev/null 2>&1 &", needs: "setsid"},
		{name: "env -i setsid", script: "env -i setsid CHILD >/dev/null 2>&1 &", needs: "setsid"},
		{name: "daemon without an environment", script: "env -i setsid -f sh -c 'cd /; CHILD & exit' >/dev/null 2>&1", needs: "setsid"},
		{name: "ssh-agent", script: "eval $(ssh-agent -a DIR/agent)", is: "ssh-agent", needs: "ssh-agent"},
		{name: "gpg-agent", script: "chmod 700 DIR; gpg-agent --homedir DIR --daemon >/dev/null 2>&1", is: "gpg-agent", needs: "gpg-agent"},
		{
			name:   "main thread ended",
			script: `env -i setsid python3 -c 'import ctypes, threading, time; threading.Thread(target=time.sleep, args=(1000,)).start(); ctypes.CDLL(None).pthread_exit(None)' DIR >/dev/null 2>&1 &`,
			is:     "python3", needs: "setsid python3",
		},
		{name: "another user", script: "setsid setpriv --reuid 65534 --clear-groups env -i CHILD >/dev/null 2>&1 &", needs: "root setsid setpriv"},
		{name: "su", script: "su nobody -s /bin/sh -c 'setsid -f CHILD >/dev/null 2>&1'", needs: "root setsid su"},
		{name: "su -", script: "su - nobody -s /bin/sh -c 'setsid -f CHILD >/dev/null 2>&1'", needs: "root setsid su"},
		{name: "sudo", script: "sudo -u nobody setsid -f CHILD >/dev/null 2>&1", needs: "root setsid sudo"},
		{name: "bwrap", script: "setsid bwrap --unshare-all --clearenv --ro-bind / / CHILD >/dev/null 2>&1 &", needs: "setsid bwrap"},
		{name: "its own limit", script: "prlimit --locks=0:0 env -i setsid CHILD >/dev/null 2>&1 &", needs: "setsid prlimit", misses: "late mark"},
	}
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			s := wayOf(t, way)
			for _, tt := range tests {
				t.Run(tt.name, func(t *testing.T) {
					for _, need := range strings.Fields(tt.needs) {
						if need == "root" {
							testenv.Root(t)
						} else {
							testenv.Programs(t, need)
						}
					}
					if tt.is == "" {
						tt.is = "sleep"
					}
					if strings.Contains(tt.script, "bwrap") {
						out, err := exec.Command("bwrap", "--unshare-all", "--ro-bind", "/", "/", "true").CombinedOutput()
						if err != nil {
							testenv.Lacks(t, "bwrap", "%v\n%s", err, out)
						}
					}
					at, unsure := found(t, s, tt.script, tt.is)
					// On a busy machine a process may leave its parent before a late
					// mark is set.
					for try := 1; try < 5 && way == "late mark" && tt.misses != way && !at; try++ {
						require.True(t, unsure, "its end was told without a word")
						at, unsure = found(t, s, tt.script, tt.is)
					}
					require.Equal(t, tt.misses != way, at)
				})
			}
		})
	}
}

// found runs a script that leaves a process behind, and reports whether it is told as
// living on. Then found ends it. unsure is what the tree says of itself.
func found(t *testing.T, s *osproc.System, script, is string) (told, unsure bool) {
	dir, err := os.MkdirTemp("/tmp", "tp") //nolint:usetesting // a socket's path is short, and others may enter
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	// The command line is all that may be read of each process.
	marker := fmt.Sprint("1000.", time.Now().UnixNano())
	script = strings.NewReplacer("DIR", dir, "CHILD", "sleep "+marker).Replace(script)
	if is != "sleep" {
		marker = dir
	}
	t.Cleanup(func() {
		for _, pid := range named(is, marker) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // of a test that has failed, or of a process that is not to be found
		}
	})
	c := start(t, s, "sh", "-c", script+"\ntouch "+dir+"/ready; while [ ! -e "+dir+"/go ]; do sleep 0.01; done; exit 3")
	eventually(t, "it is left behind", func() bool {
		_, err := os.Stat(dir + "/ready")
		return err == nil && len(named(is, marker)) == 1
	})
	require.NoError(t, os.WriteFile(dir+"/go", nil, 0o600))
	select {
	case <-c.detached:
		told = true
	case <-c.gone:
		require.Len(t, named(is, marker), 1)
	case <-time.After(long):
		require.Fail(t, "the leader does not exit")
	}
	c.kill(t)
	require.Equal(t, 3, *c.wait(t).Code())
	require.True(t, !told || len(named(is, marker)) == 0)
	return told, c.Unsure()
}

// named returns the live processes of a program that have a text in their
// arguments.
func named(program, text string) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if len(line) == 0 { // its main thread has ended
			comm, _ := os.ReadFile("/proc/" + e.Name() + "/comm")
			tasks, _ := os.ReadDir("/proc/" + e.Name() + "/task")
			if len(tasks) > 1 && strings.HasPrefix(string(comm), program) {
				pids = append(pids, pid)
			}
			continue
		}
		name, _, _ := bytes.Cut(line, []byte{0})
		if filepath.Base(string(name)) == program && bytes.Contains(line, []byte(text)) && alive(e.Name()) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// A command that starts many children at once has all of them marked, even if it
// could not be marked before it ran.
func TestHeldLateMark(t *testing.T) {
	testenv.Held(t)
	times := testenv.Rounds(40, 200)
	testenv.Programs(t, "setsid")
	s := open(t, osproc.Config{NoSlice: true})
	missed := 0
	for range times {
		c := begin(t, s, "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do env -i setsid sleep 1000 >/dev/null 2>&1 & echo $!; done; echo ready; wait")
		children := number.FindAllString(c.output(), -1)
		require.Len(t, children, 20)
		_, err := s.Signal([]*osproc.Tree{c.Tree}, syscall.SIGKILL)
		require.NoError(t, err)
		c.wait(t)
		for _, child := range children {
			if !alive(child) {
				continue
			}
			missed++
			pid, err := strconv.Atoi(child)
			require.NoError(t, err)
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		}
	}
	require.LessOrEqual(t, missed, times/10, "of 20 children each time; a few may get away on a busy machine")
}

// Kill catches a chain of processes: each leaves its parent's session, wipes its
// environment, starts the next one and exits.
func TestKillAChain(t *testing.T) {
	testenv.Programs(t, "python3")
	const hop = `
import os, sys
for i in range(20000): # it ends by itself
    if not os.path.exists(sys.argv[1]): break
    if i == 20: open(sys.argv[1] + "/begun", "w")
    if os.fork(): os._exit(0)
    os.setsid()
`
	s := open(t, osproc.Config{})
	for range 5 {
		c := start(t, s, "sh", "-c", `env -i python3 -c "$0" $PWD >/dev/null 2>&1 & echo ready; wait; while :; do sleep 1; done`, hop)
		eventually(t, "it has begun", func() bool { _, err := os.Stat(c.dir + "/begun"); return err == nil })
		_, err := s.Signal([]*osproc.Tree{c.Tree}, syscall.SIGKILL)
		require.NoError(t, err)
		c.wait(t)
		require.Empty(t, named("python3", c.dir))
	}
}
