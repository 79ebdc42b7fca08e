//go:build !windows

package osproc

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// shellAdvice says what to do if there is no shell.
const shellAdvice = "install it or set Options.Shell"

// defaultPath is where programs are if this program has no PATH. Package baseenv gives
// commands the same one.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// LookShell finds a program on PATH.
func LookShell(name string) (string, error) {
	if os.Getenv("PATH") != "" || strings.ContainsRune(name, '/') {
		return exec.LookPath(name)
	}
	for _, dir := range filepath.SplitList(defaultPath) {
		if file, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return file, nil
		}
	}
	return "", exec.ErrNotFound
}
