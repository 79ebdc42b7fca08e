// Package leftover is for tests alone: it tells what a program's tests have left
// behind.
package leftover

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Run runs the tests of a package, and fails where goroutines of it, children or
// descriptors are left behind by them. It returns the code to exit with.
func Run(m *testing.M, ours string) int {
	before := Descriptors()
	code := m.Run()
	if code == 0 {
		if left := leftBehind(ours, before); left != "" {
			fmt.Fprintln(os.Stderr, "left behind by the tests:", left)
			code = 1
		}
	}
	return code
}

// leftBehind waits a moment for what is on its way out.
func leftBehind(ours string, descriptorsBefore int) (left string) {
	for range 200 {
		left = Goroutines(ours)
		if children := Children(); len(children) > 0 {
			left += fmt.Sprint(" children: ", children)
		}
		if n := Descriptors(); n > descriptorsBefore+2 { // the poller's own
			left += fmt.Sprintf(" %d descriptors, %d before", n, descriptorsBefore)
		}
		if left == "" {
			return ""
		}
		time.Sleep(10 * time.Millisecond)
	}
	return left
}

// Goroutines returns the stacks of those that run code of a package, or of one
// that is internal to it. The package is named by the end of its path.
func Goroutines(ours string) string {
	buf := make([]byte, 1<<20)
	var found []string
	for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		within := strings.Contains(g, ours+".") || strings.Contains(g, ours+"/internal/")
		if within && !strings.Contains(g, "internal/leftover.") { // who asks
			found = append(found, g)
		}
	}
	return strings.Join(found, "\n\n")
}

// Children returns the children of this program, as Linux tells them. What Wine
// has at that place is about itself.
func Children() []string {
	if runtime.GOOS == "windows" {
		return nil
	}
	files, _ := filepath.Glob("/proc/self/task/*/children")
	var all []string
	for _, f := range files {
		text, _ := os.ReadFile(f)
		all = append(all, strings.Fields(string(text))...)
	}
	return all
}

// Descriptors counts this program's open files, where the system tells.
func Descriptors() int {
	if runtime.GOOS == "windows" {
		return 0
	}
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}
