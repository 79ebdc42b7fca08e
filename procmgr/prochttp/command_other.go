//go:build !unix

package prochttp

import "os/exec"

// ownSession gives a command a session of its own, where there are sessions.
func ownSession(*exec.Cmd) {}

// killGroup ends a command.
func killGroup(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // if it has ended, there is nothing to end
}

// outlivePipes has nothing to do: there is no SIGPIPE.
func outlivePipes() {}
