//go:build !linux

package prochttp

import "os/exec"

// keepsNumber reports whether the number of a command stays its own after
// awaitExit.
const keepsNumber = false

// awaitExit waits until a command has exited.
func awaitExit(cmd *exec.Cmd) {
	_ = cmd.Wait() // ProcessState has its exit status
}

// groupLives reports whether the group of a command that has exited still has
// processes. Nobody could signal them, because the number of the group may be
// that of others.
func groupLives(*exec.Cmd) bool { return false }
