//go:build unix

package prochttp

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// ownSession gives a command a session of its own.
func ownSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// killGroup ends the process group of a command.
func killGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // if the group has gone, there is nothing to end
}

// outlivePipes turns a write to a stdout or stderr without a reader into an error.
// Otherwise Go ends the program by SIGPIPE. The signal is caught and not ignored, since
// other children would inherit that.
func outlivePipes() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // the channel is never read
}
