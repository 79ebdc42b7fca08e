package proctest

import (
	"errors"
	"strings"

	"github.com/toolproc/toolproc/procmgr"
)

var portsCases = []testCase{
	{"until listening", "a wait with UntilListening ends once the process listens on that port, and Listening names the socket; or the error is errors.ErrUnsupported", portsUntil},
	{"of this process", "Listening has the sockets of this process alone, and only if Ports or UntilListening asks for them", portsOwn},
	{"no such port", "UntilListening below -1 or over 65535 is ErrInvalid, or errors.ErrUnsupported", portsInvalid},
}

// listens is a command of one line that listens on a port of 127.0.0.1 and prints "port N".
// It ends by itself in ten minutes. It needs one of the programs in listeners.
const listens = `if command -v perl >/dev/null; then ` +
	`exec perl -MIO::Socket::INET -e '$| = 1; $s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1:0") or die; print "port ", $s->sockport, "\n"; sleep 600'; ` +
	`elif command -v python3 >/dev/null; then ` +
	`exec python3 -c 'import socket, time; s = socket.create_server(("127.0.0.1", 0)); print("port", s.getsockname()[1], flush=True); time.sleep(600)'; ` +
	`else exec node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => console.log("port " + s.address().port)); setTimeout(() => process.exit(), 600000)'; fi`

const listeners = "command -v perl || command -v python3 || command -v node"

// canListen reports whether the host tells ports, and can run a command that
// listens on one. If it tells none, or nothing there can listen, the case has
// nothing to look at.
func (c *check) canListen(m procmgr.Manager) bool {
	c.Helper()
	out := c.run(m, listeners)
	asked, err := c.tryRead(m, out.Process.ID, procmgr.OutputRequest{Ports: true})
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return false
	case err != nil:
		c.fatalf("Output with Ports failed: %v", err)
	case len(asked.Listening) > 0:
		c.errorf("a process that has exited listens on %v", asked.Listening)
	}
	return strings.Contains(out.Text, "/")
}

// port waits until a process of the command listens has printed its port.
func (c *check) port(m procmgr.Manager, id string) (addr string) {
	c.Helper()
	out := c.read(m, id, procmgr.OutputRequest{Until: "^port [0-9]+$", Wait: c.long})
	if !out.Matched {
		c.fatalf("a command that listens on a port has not said on which; state %s, output %.200q", out.Process.State, out.Text)
	}
	return "127.0.0.1:" + strings.TrimPrefix(out.MatchedLine, "port ")
}

// listensOn compares the sockets of a process with the one that it has.
func (c *check) listensOn(what string, out procmgr.Output, addr string) {
	c.Helper()
	if len(out.Listening) != 1 {
		c.fatalf("%s: the process listens on %s, and Listening is %v", what, addr, out.Listening)
	}
	if l := out.Listening[0]; l.Addr != addr || l.Network != "tcp4" || l.PID <= 0 {
		c.errorf("%s: the process listens on %s by tcp4, and Listening has %+v", what, addr, l)
	}
}

func portsUntil(c *check) {
	m := c.chat("a")
	if !c.canListen(m) {
		return
	}
	p := c.puppet(m)
	answers := c.reading(c.ctx, m, p.id, procmgr.OutputRequest{UntilListening: -1, Wait: c.long})
	p.tell("(" + listens + ") &")
	out := c.of(answers)
	addr := c.port(m, p.id)
	c.listensOn("after a wait with UntilListening -1", out, addr)
	_, port, _ := strings.Cut(addr, ":")
	out = c.read(m, p.id, procmgr.OutputRequest{UntilListening: int(number(port)), Wait: c.long})
	c.listensOn("after a wait with UntilListening "+port, out, addr)
	if out.Process.State != procmgr.Running {
		c.errorf("a wait with UntilListening %s for a process that listens has ended when the process was %s", port, out.Process.State)
	}
}

func portsOwn(c *check) {
	m := c.chat("a")
	if !c.canListen(m) {
		return
	}
	first := c.start(m, procmgr.StartRequest{Command: listens}).Process.ID
	second := c.start(m, procmgr.StartRequest{Command: listens}).Process.ID
	neither := c.sleeper(m).Process.ID
	for _, id := range []string{first, second} {
		addr := c.port(m, id)
		c.listensOn("of two processes that listen", c.read(m, id, procmgr.OutputRequest{Ports: true}), addr)
		if out := c.look(m, id); out.Listening != nil {
			c.errorf("Listening is %v, and nobody has asked for it", out.Listening)
		}
	}
	if out := c.read(m, neither, procmgr.OutputRequest{Ports: true}); len(out.Listening) > 0 {
		c.errorf("a process that listens on nothing has %v", out.Listening)
	}
}

func portsInvalid(c *check) {
	m := c.chat("a")
	id := c.run(m, "exit 0").Process.ID
	for _, port := range []int{-2, 65536} {
		_, err := c.tryRead(m, id, procmgr.OutputRequest{UntilListening: port})
		if !errors.Is(err, procmgr.ErrInvalid) && !errors.Is(err, errors.ErrUnsupported) {
			c.errorf("Output with UntilListening %d returned the error %v", port, err)
		}
	}
}

// number reads the digits at the beginning of a text.
func number(text string) (n int64) {
	for _, r := range text {
		if r < '0' || r > '9' {
			break
		}
		n = 10*n + int64(r-'0')
	}
	return n
}
