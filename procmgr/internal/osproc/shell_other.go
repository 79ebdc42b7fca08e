//go:build !windows

package osproc

import "os/exec"

// shellAdvice says what to do if there is no shell.
const shellAdvice = "install it or set Options.Shell"

// LookShell finds a program on PATH.
func LookShell(name string) (string, error) { return exec.LookPath(name) }
