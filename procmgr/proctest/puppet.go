package proctest

import (
	"strings"

	"github.com/toolproc/toolproc/procmgr"
)

// dir makes a directory on the host, which goes with the case. The path has no
// symbolic link in it.
func (c *check) dir(m procmgr.Manager) string {
	c.Helper()
	out := c.run(m, `cd "$(mktemp -d)" && pwd -P`)
	dir := strings.TrimSuffix(out.Text, "\n")
	if len(dir) < 2 || dir[0] != '/' || strings.ContainsAny(dir, "'\n") {
		c.fatalf("a directory could not be made on the host; it needs mktemp: output %s", excerpt(out.Text))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dirs = append(c.dirs, quote(dir))
	return dir
}

// quote makes one word of a path that dir returned, or one below it.
func quote(path string) string { return "'" + path + "'" }

// file reads a file on the host, "" where there is none.
func (c *check) file(m procmgr.Manager, name string) string {
	c.Helper()
	return c.run(m, "cat "+quote(name)+" 2>/dev/null || :").Text
}

// A puppet is a process that does what it is told, at the moment it is told.
type puppet struct {
	c   *check
	m   procmgr.Manager
	id  string
	in  string // the FIFO that it takes orders from
	end int64  // offset of its output's end, when it was ready
}

// puppet starts one in a chat of its own or with others.
func (c *check) puppet(m procmgr.Manager) *puppet {
	c.Helper()
	in := c.dir(m) + "/in"
	return c.puppetAt(m, in, procmgr.StartRequest{Command: puppetCommand(in)})
}

// puppetCommand is what a puppet runs. It holds both ends of its FIFO, so that
// it never reads an end of file.
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
// puppet's FIFO; where the puppet has ended, the order is lost.
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

// A lifeline tells when processes have ended, without knowing their PIDs: they
// hold a FIFO open, and a reader comes to its end when the last of them is gone.
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

// hold is what a script begins with whose processes are to be watched. Its
// children inherit the line.
func (l *lifeline) hold() string { return "exec 9<>" + quote(l.fifo) + "; " }

// watch begins to read. The processes must hold the line by then.
func (l *lifeline) watch() {
	l.c.Helper()
	// The reader holds the line itself until it has opened it, which waits for
	// somebody who does.
	l.id = l.c.begin(l.m, "exec 7<>"+quote(l.fifo)+" 8<"+quote(l.fifo)+" 7>&-; echo ready; exec cat <&8").Process.ID
}

// cut waits until all that held the line have ended.
func (l *lifeline) cut(what string) {
	l.c.Helper()
	out := l.c.read(l.m, l.id, procmgr.OutputRequest{Wait: l.c.long})
	if out.Process.State == procmgr.Running {
		l.c.errorf("%s live on after %v", what, l.c.long)
	}
}

// holds fails where nothing holds the line any more.
func (l *lifeline) holds(what string) {
	l.c.Helper()
	l.c.runs(l.m, l.id, "because "+what+" have ended")
}
