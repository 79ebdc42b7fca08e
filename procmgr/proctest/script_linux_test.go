package proctest_test

import (
	"bytes"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/procstat"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// unscripted are the cases that a Script cannot pass, as its doc says.
var unscripted = []string{
	"directory/home", "directory/missing", "input/no reader",
}

// A Script is a Host like any other, if a shell plays its commands.
func TestScriptIsAHost(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(proctest.Cases())) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := proctest.NewScript()
			s.On("*", func(c *proctest.Command) int { return shell(t, c) })
			longest := time.Duration(0)
			if slices.Contains(unscripted, name) {
				longest = time.Second
			}
			failures := proctest.RunCase(name, s, longest)
			require.NoError(t, s.Close())
			require.Equal(t, slices.Contains(unscripted, name), len(failures) > 0, "%q", failures)
		})
	}
}

// endStrays ends what has left the session of a command.
func endStrays(id string) {
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range environs {
		text, _ := os.ReadFile(name) // empty if another user runs it
		if bytes.Contains(text, []byte("\x00TOOLPROC_PROCESS_ID="+id+"\x00")) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// lives reports whether a process of a group lives. A zombie of the group does not: it may
// take seconds until PID 1 reaps it.
func lives(group int) bool {
	if syscall.Kill(-group, 0) != nil {
		return false
	}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	return slices.ContainsFunc(dirs, func(dir string) bool {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		p, ok := procstat.Look(pid)
		return ok && p.Group == group && !p.Ended()
	})
}

// shell plays a command by a shell in a session of its own, which prints to a file.
func shell(t *testing.T, c *proctest.Command) int {
	p, signals := c.Process(), c.Signals()
	if strings.Contains(p.Command, "setsid") {
		defer endStrays(p.ID)
	}
	file, err := os.OpenFile(filepath.Join(t.TempDir(), p.ID), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return 125
	}
	defer file.Close()
	cmd := exec.Command("sh", "-c", "--", p.Command)
	cmd.Stdout, cmd.Stderr = file, file
	cmd.Dir, cmd.SysProcAttr = p.WorkDir, &syscall.SysProcAttr{Setsid: true}
	cmd.Env = os.Environ()
	for name, value := range c.Request.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Env = append(cmd.Env, "TOOLPROC=1", "TOOLPROC_PROCESS_ID="+p.ID)
	if p.ChatID != "" {
		cmd.Env = append(cmd.Env, "TOOLPROC_CHAT_ID="+p.ChatID)
	} else {
		cmd.Env = slices.DeleteFunc(cmd.Env, func(kv string) bool { return len(kv) > 17 && kv[:17] == "TOOLPROC_CHAT_ID=" })
	}
	if p.Stdin == procmgr.StdinPipe {
		r, w, err := os.Pipe()
		if err != nil {
			return 125
		}
		defer r.Close()
		cmd.Stdin = r
		go func() { // it ends with the command
			defer w.Close()
			_, _ = io.Copy(w, c)
		}()
	}
	if cmd.Start() != nil {
		return 126
	}
	group, exited := cmd.Process.Pid, make(chan int, 1)
	go func() { // this function waits for its value
		_ = cmd.Wait()
		if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
			exited <- -int(status.Signal())
		} else {
			exited <- status.ExitStatus()
		}
	}()
	buf, at, code, left := make([]byte, 64<<10), int64(0), 0, false
	for {
		alive := !left || lives(group) // before the read, which has all that it has printed then
		if n, _ := file.ReadAt(buf, at); n > 0 && c.Context().Err() == nil {
			at += int64(n)
			_, _ = c.Write(buf[:n])
			continue
		}
		switch {
		case c.Context().Err() != nil:
			_ = syscall.Kill(-group, syscall.SIGKILL)
			if !left {
				<-exited
			}
			for lives(group) {
				time.Sleep(time.Millisecond)
			}
			return code
		case left && !alive:
			return code
		}
		select {
		case sig := <-signals:
			_ = syscall.Kill(-group, map[procmgr.Signal]syscall.Signal{procmgr.Terminate: syscall.SIGTERM, procmgr.Interrupt: syscall.SIGINT}[sig])
			_ = syscall.Kill(-group, syscall.SIGCONT)
		case code = <-exited:
			for n := 1; n > 0; { // all that it has printed
				n, _ = file.ReadAt(buf, at)
				at += int64(n)
				_, _ = c.Write(buf[:n])
			}
			if !lives(group) {
				return code
			}
			c.Detach(code)
			left = true
		case <-c.Context().Done():
		case <-time.After(time.Millisecond):
		}
	}
}
