package proctest

import (
	"path"
	"strings"

	"github.com/toolproc/toolproc/procmgr"
)

var directoryCases = []testCase{
	{"by default", "a request without a directory runs in the default directory of the host, and WorkDir names that directory as an absolute path", directoryDefault},
	{"asked for", "a request runs in the directory that it names, and WorkDir names the same directory", directoryAsked},
	{"relative", "a relative directory is resolved against the default directory", directoryRelative},
	{"home", "a ~ that stands alone or before a slash is the home directory on the machine that runs the command, which is HOME for the command", directoryHome},
	{"passed over", "PassedOver is set only if a default directory could not be used, never for a request that names its directory; every read returns the same", directoryPassedOver},
	{"missing", "if a directory cannot be used, Start fails with ErrInvalid, runs nothing, and leaves the ID unused", directoryMissing},
}

func directoryDefault(c *check) {
	m := c.chat("a")
	out := c.run(m, "pwd -P")
	if !path.IsAbs(out.Process.WorkDir) {
		c.fatalf("WorkDir is %q", out.Process.WorkDir)
	}
	again := c.runAs(m, procmgr.StartRequest{Command: "pwd -P", WorkDir: out.Process.WorkDir})
	if again.Text != out.Text {
		c.errorf("a command ran in %q and WorkDir says %q, which is %q", out.Text, out.Process.WorkDir, again.Text)
	}
}

func directoryAsked(c *check) {
	m := c.chat("a")
	dir := c.dir(m)
	c.text(c.run(m, `mkdir "`+dir+`/with a space, 'quotes' and ä"`), "")
	for _, dir := range []string{"/", dir, dir + "/with a space, 'quotes' and ä"} {
		out := c.runAs(m, procmgr.StartRequest{Command: "pwd -P", WorkDir: dir})
		c.text(out, dir+"\n")
		if out.Process.WorkDir != dir {
			c.errorf("a command had to run in %q, and WorkDir is %q", dir, out.Process.WorkDir)
		}
	}
}

func directoryRelative(c *check) {
	m := c.chat("a")
	byDefault := c.run(m, "pwd -P")
	here := c.runAs(m, procmgr.StartRequest{Command: "pwd -P", WorkDir: "."})
	if here.Text != byDefault.Text {
		c.errorf("the directory \".\" is %q, and the default is %q", here.Text, byDefault.Text)
	}
	if !path.IsAbs(here.Process.WorkDir) {
		c.errorf("the directory \".\" was asked for, and WorkDir says %q", here.Process.WorkDir)
	}
}

func directoryHome(c *check) {
	m := c.chat("a")
	home := c.dir(m)
	c.text(c.run(m, "mkdir "+quote(home+"/below")), "")
	env := map[string]string{"HOME": home}
	for _, tt := range []struct{ asked, want string }{{"~", home}, {"~/", home}, {"~/below", home + "/below"}} {
		out := c.runAs(m, procmgr.StartRequest{Command: "pwd -P", WorkDir: tt.asked, Env: env})
		c.text(out, tt.want+"\n")
		if out.Process.WorkDir != tt.want {
			c.errorf("a command had to run in %q of the home %q, and WorkDir is %q", tt.asked, home, out.Process.WorkDir)
		}
	}
	if shells := c.run(m, `test -n "$HOME" && cd ~ && pwd -P`); shells.Text != "" {
		c.text(c.runAs(m, procmgr.StartRequest{Command: "pwd -P", WorkDir: "~"}), shells.Text)
	}
}

func directoryPassedOver(c *check) {
	m := c.chat("a")
	out := c.runAs(m, procmgr.StartRequest{Command: "pwd -P", WorkDir: c.dir(m)})
	if out.PassedOver != "" {
		c.errorf("a request named its directory in full, and PassedOver says %q", out.PassedOver)
	}
	out = c.run(m, "pwd -P")
	if again := c.read(m, out.Process.ID, procmgr.OutputRequest{}); again.PassedOver != out.PassedOver {
		c.errorf("Start said that %q was passed over, and Output says %q", out.PassedOver, again.PassedOver)
	}
}

func directoryMissing(c *check) {
	m := c.chat("a")
	dir := c.dir(m)
	missing, file := dir+"/missing", dir+"/file"
	req := procmgr.StartRequest{ID: c.id(), Command: "echo ran >>" + quote(dir+"/runs") + "; pwd -P", WorkDir: missing, Wait: c.long}
	c.run(m, ": >"+quote(file))
	for _, tt := range []struct{ what, dir string }{{"a missing directory", missing}, {"a file as the directory", file}} {
		req.WorkDir = tt.dir
		out, err := c.tryStart(m, req)
		c.is(err, procmgr.ErrInvalid, "Start in %s", tt.what)
		if out.Process.ID != "" {
			c.errorf("Start in %s returned the ID %q, as if it may have run something", tt.what, out.Process.ID)
		}
		_, err = c.tryRead(m, req.ID, procmgr.OutputRequest{})
		c.is(err, procmgr.ErrNotFound, "Output of an ID whose Start was refused for %s", tt.what)
	}
	if runs := c.file(m, dir+"/runs"); runs != "" {
		c.errorf("a refused Start ran its command: %q", runs)
	}
	c.run(m, "mkdir "+quote(missing))
	req.WorkDir = missing
	out, err := c.tryStart(m, req)
	if err != nil {
		c.fatalf("Start was refused for a missing directory, and after it was made, the same Start returned %q: its ID is used", err)
	}
	if out.Attached || strings.TrimSuffix(out.Text, "\n") != missing {
		c.errorf("Start was refused for a missing directory, and after it was made, the same Start returned Attached %v and %q", out.Attached, out.Text)
	}
}
