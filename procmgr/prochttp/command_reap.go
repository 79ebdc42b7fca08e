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
