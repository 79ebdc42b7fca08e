package proctest

import (
	"strings"

	"github.com/toolproc/toolproc/procmgr"
)

// dir makes a directory on the host, and the end of the case removes it. Its
// path has no symbolic link.
func (c *check) dir(m procmgr.Manager) string {
	c.Helper()
	out := c.run(m, `cd "$(mktemp -d)" && pwd -P`)
	dir := strings.TrimSuffix(out.Text, "\n")
	if len(dir) < 2 || dir[0] != '/' || strings.ContainsAny(dir, "'\n") {
		c.fatalf("a directory could not be made on the host; it needs mktemp: output %s", excerpt(out.Text))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dirs = append(c.dirs, made{m, quote(dir)})
	return dir
}

// quote makes one shell word of a path from dir, or of a path below it.
func quote(path string) string { return "'" + path + "'" }

// file reads a file on the host. If there is none, it returns "".
func (c *check) file(m procmgr.Manager, name string) string {
	c.Helper()
	return c.run(m, "cat "+quote(name)+" 2>/dev/null || :").Text
}

// A puppet is a process that runs the orders it gets, as soon as it gets them.
type puppet struct {
	c   *check
	m   procmgr.Manager
	id  string
	in  string // the FIFO of its orders
	end int64  // offset of the end of its output when it was ready
}

// puppet starts a puppet in a chat or on the host.
func (c *check) puppet(m procmgr.Manager) *puppet {
	c.Helper()
	in := c.dir(m) + "/in"
	return c.puppetAt(m, in, procmgr.StartRequest{Command: puppetCommand(in)})
}

// puppetCommand returns the command of a puppet. The puppet holds both ends of
// its FIFO, so that it never reads an end of file.
func puppetCommand(in string) string {
	return "mkfifo " + quote(in) + " && exec 3<>" + quote(in) + " && echo ready\n" +
		`while IFS= read -r order <&3; do eval "$order"; done`
}

func (c *check) puppetAt(m procmgr.Manager, in string, req procmgr.StartRequest) *puppet {
	c.Helper()
	out := c.beginAs(m, req)
	if out.Next != int64(len(out.Text)) {
		c.fatalf("%d bytes have been printed, and Next is %d", len(out.Text), out.Next)
	}
	return &puppet{c: c, m: m, id: out.Process.ID, in: in, end: out.Next}
}

// tell has the puppet run a line of shell. It returns once the order is in the
// puppet's FIFO. If the puppet has ended, the order is lost.
func (p *puppet) tell(order string) {
	p.c.Helper()
	if err := p.tryTell(order); err != nil {
		p.c.fatalf("%v", err)
	}
}

func (p *puppet) tryTell(order string) error {
	_, err := p.c.tryStart(p.m, procmgr.StartRequest{
		Command: `exec 3<>"$IN"; printf '%s\n' "$ORDER" >&3`,
		Env:     map[string]string{"ORDER": order, "IN": p.in},
		Wait:    p.c.long,
	})
	return err
}

// A lifeline shows when processes have ended, without their PIDs: they hold a
// FIFO open, and a reader of that FIFO ends when the last of them is gone.
type lifeline struct {
	c    *check
	m    procmgr.Manager
	fifo string
	id   string // of the reader
}

// lifeline makes the FIFO.
func (c *check) lifeline(m procmgr.Manager) *lifeline {
	c.Helper()
	l := &lifeline{c: c, m: m, fifo: c.dir(m) + "/alive"}
	if out := c.run(m, "mkfifo "+quote(l.fifo)+" && echo made"); out.Text != "made\n" {
		c.fatalf("a FIFO could not be made on the host; it needs mkfifo: output %s", excerpt(out.Text))
	}
	return l
}

// hold returns the beginning of a script whose processes are to be watched. Its
// children inherit the FIFO.
func (l *lifeline) hold() string { return "exec 9<>" + quote(l.fifo) + "; " }

// watch begins to read. By then, the processes must hold the FIFO.
func (l *lifeline) watch() {
	l.c.Helper()
	// To open a FIFO for reading waits for a writer. So the reader holds the
	// FIFO itself until it has opened it.
	l.id = l.c.begin(l.m, "exec 7<>"+quote(l.fifo)+" 8<"+quote(l.fifo)+" 7>&-; echo ready; exec cat <&8").Process.ID
}

// cut waits until all processes that held the FIFO have ended.
func (l *lifeline) cut(what string) {
	l.c.Helper()
	out := l.c.read(l.m, l.id, procmgr.OutputRequest{Wait: l.c.long})
	if out.Process.State == procmgr.Running {
		l.c.errorf("%s live on after %v", what, l.c.long)
	}
}

// holds fails if no process holds the FIFO any more.
func (l *lifeline) holds(what string) {
	l.c.Helper()
	l.c.runs(l.m, l.id, "because "+what+" have ended")
}
