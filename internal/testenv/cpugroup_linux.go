package testenv

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// CPUGroup moves this program into a cgroup of its own with the cpu controller,
// if it runs benchmarks and may do that. leave moves it back. The caller is
// TestMain.
//
// In the root cgroup, each session is a scheduling group of its own, see
// sched(7) under autogroup. A command of procmgr has a session of its own, and
// the command that it is measured beside has not. So the other work of a machine
// would slow the two down differently.
func CPUGroup() (leave func()) {
	flag.Parse()
	for _, root := range cpuRoots() {
		group := filepath.Join(root, "toolproc-bench-"+strconv.Itoa(os.Getpid()))
		if flag.Lookup("test.bench").Value.String() == "" || os.Mkdir(group, 0o755) != nil {
			continue
		}
		leave := func() {
			_ = enter(root)
			_ = os.Remove(group)
		}
		if enter(group) == nil {
			return leave
		}
		leave()
	}
	return func() {}
}

// cpuRoots returns the root cgroups in which this program is, if their children
// have the cpu controller.
func cpuRoots() (roots []string) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(own)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 || parts[2] != "/" {
			continue
		}
		controllers := strings.Split(parts[1], ",")
		for _, controller := range controllers {
			if controller == "cpu" { // cgroup v1
				roots = append(roots, filepath.Join("/sys/fs/cgroup", parts[1]))
			}
		}
		if enabled, err := os.ReadFile("/sys/fs/cgroup/cgroup.subtree_control"); parts[0] == "0" && err == nil {
			for controller := range strings.FieldsSeq(string(enabled)) {
				if controller == "cpu" {
					roots = append(roots, "/sys/fs/cgroup")
				}
			}
		}
	}
	return roots
}

// enter moves this program into a cgroup.
func enter(group string) error {
	return os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0)
}
