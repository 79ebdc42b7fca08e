package proctest

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/toolproc/toolproc/procmgr"
)

var shellCases = []testCase{
	{"told", "Describe names the program that interprets commands and the system, the same at every call, or \"\"", shellTold},
}

// systems are those of which uname has the name that they have in Go. Android,
// whose uname says Linux, cannot run the suite.
var systems = []string{"linux", "darwin", "freebsd", "netbsd", "openbsd", "dragonfly"}

func shellTold(c *check) {
	for _, m := range []procmgr.Manager{c.host, c.chat("a")} {
		machine := c.describe(m)
		if again := c.describe(m); !reflect.DeepEqual(again, machine) {
			c.errorf("the machine was described as %+v, and asked for again as %+v", machine, again)
		}
		if machine == (procmgr.Description{}) {
			continue // such as a Host of many machines, which may not start anything itself
		}
		system := strings.ToLower(strings.TrimSpace(c.run(m, "uname -s 2>/dev/null").Text))
		if machine.OS != "" && machine.OS != system && slices.Contains(systems, system) {
			c.errorf("the system is %q, and a command finds %q", machine.OS, system)
		}
		name := machine.Shell
		if name == "" {
			continue
		}
		if strings.ContainsAny(name, `/\ `) || strings.HasSuffix(name, ".exe") {
			c.errorf("the shell is %q, which is no base name", name)
		}
		text := c.run(m, `echo "${BASH_VERSION:+bash}${KSH_VERSION:+ksh}${ZSH_VERSION:+zsh}"`).Text
		switch is := strings.TrimSpace(text); {
		case is == "", name == "sh": // such as dash; and any shell may be the system's sh
			if name == "bash" {
				c.errorf("the shell is %q, and a command has no BASH_VERSION", name)
			}
		case !strings.Contains(name, is):
			c.errorf("the shell is %q, and a command is run by %s", name, is)
		}
	}
}

// describe asks a manager for what is known of its machine.
func (c *check) describe(m procmgr.Manager) procmgr.Description {
	c.Helper()
	d, err := c.tryDescribe(c.ctx, m)
	if err != nil {
		c.fatalf("Describe failed: %v", err)
	}
	return d
}

func (c *check) tryDescribe(ctx context.Context, m procmgr.Manager) (procmgr.Description, error) {
	var d procmgr.Description // not touched by a call that was given up
	err := c.bounded(func() error {
		got, err := m.Describe(ctx)
		c.mu.Lock()
		defer c.mu.Unlock()
		d = got
		return err
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	return d, err
}
