package proctest

import (
	"context"
	"errors"
	"strings"

	"github.com/toolproc/toolproc/procmgr"
)

var shellCases = []testCase{
	{"told", "Shell names the program that interprets commands, the same at every call, or is ErrUnsupported", shellTold},
}

func shellTold(c *check) {
	for _, m := range []procmgr.Manager{c.host, c.chat("a")} {
		name := c.shell(m)
		if again := c.shell(m); again != name {
			c.errorf("the shell was %q, and asked for again it is %q", name, again)
		}
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

// shell asks for the shell of a manager; "" is one that cannot be told.
func (c *check) shell(m procmgr.Manager) string {
	c.Helper()
	name, err := c.tryShell(c.ctx, m)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		c.fatalf("Shell failed: %v", err)
	}
	if err != nil && name != "" {
		c.errorf("Shell returned the name %q, and the error %v", name, err)
	}
	return name
}

func (c *check) tryShell(ctx context.Context, m procmgr.Manager) (string, error) {
	var name string // not touched by a call that was given up
	err := c.bounded(func() error {
		got, err := procmgr.Shell(ctx, m)
		c.mu.Lock()
		defer c.mu.Unlock()
		name = got
		return err
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	return name, err
}
