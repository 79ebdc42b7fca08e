// Package leftover is for tests only. It finds the goroutines, children and
// descriptors that a program's tests have left behind.
package leftover

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// Run runs the tests of a package. It fails if the tests leave behind
// goroutines of the package, children or descriptors. It returns the code with
// which to exit.
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

// leftBehind waits for goroutines and children that are about to end. A wait that a
// client of prochttp could continue takes 2 s.
func leftBehind(ours string, descriptorsBefore int) (left string) {
	for range 500 {
		left = Goroutines(ours)
		if children := Children(); len(children) > 0 {
			left += fmt.Sprint(" children: ", children)
		}
		if n := Descriptors(); n > descriptorsBefore+2 { // the poller has its own
			left += fmt.Sprintf(" %d descriptors, %d before", n, descriptorsBefore)
		}
		if left == "" {
			return ""
		}
		time.Sleep(10 * time.Millisecond)
	}
	return left
}

// Goroutines returns the stacks of the goroutines that run code of a package or of one
// below it, tests left out. ours is the end of the package's path.
func Goroutines(ours string) string {
	buf := make([]byte, 1<<20)
	var found []string
	for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		within := func(line string) bool {
			return (strings.Contains(line, ours+".") || strings.Contains(line, ours+"/")) && !strings.Contains(line, "_test.")
		}
		if slices.ContainsFunc(strings.Split(g, "\n"), within) && !strings.Contains(g, "internal/leftover.") { // the goroutine that asks
			found = append(found, g)
		}
	}
	return strings.Join(found, "\n\n")
}

// Children returns the children of this program, if it runs on Linux. On
// Windows it returns none, because Wine shows there a /proc that is about Wine
// itself.
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

// Descriptors counts this program's open files, if the system tells them.
func Descriptors() int {
	if runtime.GOOS == "windows" {
		return 0
	}
	entries, _ := os.ReadDir("/proc/self/fd")
	return len(entries)
}
