package proctest_test

import (
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// unscripted are the cases, and the groups of cases, that a Script cannot pass, as its doc
// says.
var unscripted = []string{
	"detached/", "directory/home", "directory/missing", "events/each start and end", "input/no reader", "lifetime/ends",
	"signal/a handler's exit code", "signal/what has left the session", "wait/state",
}

// A Script is a Host like any other, if a shell plays its commands.
func TestScriptIsAHost(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(proctest.Cases())) {
		if slices.ContainsFunc(unscripted, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := proctest.NewScript()
			s.On("*", shell)
			require.Empty(t, proctest.RunCase(name, s, 0))
			require.NoError(t, s.Close())
		})
	}
}

// shell plays a command by a shell in a session of its own. The command lives as long as
// its output is open.
func shell(c *proctest.Command) int {
	p := c.Process()
	cmd := exec.CommandContext(c.Context(), "sh", "-c", "--", p.Command)
	cmd.Dir, cmd.SysProcAttr = p.WorkDir, &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Env = os.Environ()
	for name, value := range c.Request.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Env = slices.DeleteFunc(cmd.Env, func(kv string) bool { return strings.HasPrefix(kv, "TOOLPROC_CHAT_ID=") })
	cmd.Env = append(cmd.Env, "TOOLPROC=1", "TOOLPROC_PROCESS_ID="+p.ID)
	if p.ChatID != "" {
		cmd.Env = append(cmd.Env, "TOOLPROC_CHAT_ID="+p.ChatID)
	}
	if p.Stdin == procmgr.StdinPipe {
		in, err := cmd.StdinPipe()
		if err != nil {
			return 125
		}
		go func() { // it ends with the command
			defer in.Close()
			_, _ = io.Copy(in, c)
		}()
	}
	out, printed, err := os.Pipe()
	if err != nil {
		return 125
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = printed, printed
	err = cmd.Start()
	printed.Close()
	if err != nil {
		return 126
	}
	defer func() { _ = cmd.Wait() }() // also if the command has to end, which ends this function in Write
	_, _ = io.Copy(c, out)
	_ = cmd.Wait() // ProcessState has the result
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
		return -int(status.Signal())
	}
	return cmd.ProcessState.ExitCode()
}
