//go:build !windows

package osproc

import "os/exec"

// shellAdvice is what to do where there is no shell.
const shellAdvice = "install it or set Options.Shell"

// LookShell finds a program on PATH.
func LookShell(name string) (string, error) { return exec.LookPath(name) }
