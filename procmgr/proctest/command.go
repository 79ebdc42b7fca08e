package proctest

import (
	"fmt"
	"strings"

	"github.com/toolproc/toolproc/procmgr"
)

var commandCases = []testCase{
	{"exactly as given", "the shell gets the command byte for byte, and Process.Command is the same", commandAsGiven},
	{"100 KB", "a long command runs whole", commandLong},
	{"begins with a dash", "a command that begins with - or + is a command, and not an option of the shell", commandDash},
	{"streams in order", "stdout and stderr are one stream, in the order in which the command wrote them", commandStreams},
	{"stdin is empty", "stdin is empty: a command that reads it reaches the end at once", commandStdin},
	{"no terminal", "a command runs in a session without a terminal, so that it cannot prompt on the terminal of the host", commandTerminal},
	{"complete at the exit", "when the exit is reported, all output from before the exit is there, and above all the last line", commandComplete},
}

func commandAsGiven(c *check) {
	m := c.chat("a")
	for _, tt := range []struct{ command, text string }{
		{`echo "it's" 'a "quote"' a\ b \\`, "it's a \"quote\" a b \\\n"},
		{"echo one\necho two\n", "one\ntwo\n"},
		{"cat <<'END'\n$HOME `id`\tä€😀 <>&\nEND\n", "$HOME `id`\tä€😀 <>&\n"},
		{"  echo blanks  around  ", "blanks around\n"},
		{"echo comment # no newline after it", "comment\n"},
		{"echo \\\njoined", "joined\n"},
		{"for i in 1 2\ndo\n\tprintf '%s;' \"$i\"\ndone", "1;2;"},
		{"f() { echo \"$#:$1\"; }; f \"a  b\" ''", "2:a  b\n"},
		{"echo a; exit 0; echo \u2028", "a\n"},
	} {
		out := c.run(m, tt.command)
		c.text(out, tt.text)
		c.exit(out.Process, 0, "", procmgr.CauseExit)
		for _, p := range []procmgr.Process{out.Process, c.look(m, out.Process.ID).Process} {
			if p.Command != tt.command {
				c.errorf("the command was %q, and Process.Command is %q", tt.command, p.Command)
			}
		}
	}
	// Shells differ on a backslash at the very end.
	const backslash = `echo end; : \`
	out := c.run(m, backslash)
	c.text(out, "end\n")
	if out.Process.Command != backslash {
		c.errorf("the command was %q, and Process.Command is %q", backslash, out.Process.Command)
	}
}

func commandLong(c *check) {
	m := c.chat("a")
	const n = 100 << 10
	word := strings.Repeat("x", n)
	out := c.run(m, "set -- "+word+"\necho ${#1} the end")
	c.text(out, fmt.Sprintf("%d the end\n", n))
	if out.Process.Command != "set -- "+word+"\necho ${#1} the end" {
		c.errorf("a long command is not the same in Process.Command, which has %d bytes: %s", len(out.Process.Command), excerpt(out.Process.Command))
	}
}

func commandDash(c *check) {
	m := c.chat("a")
	for _, command := range []string{"-x; echo went on", "+x; echo went on", "--help; echo went on", "-c 'echo no'; echo went on"} {
		out := c.run(m, command)
		if !strings.HasSuffix(out.Text, "went on\n") {
			c.errorf("%q was not run as a command: exit code %s, output %s", command, code(out.Process), excerpt(out.Text))
		}
		if out.Process.Command != command {
			c.errorf("the command was %q, and Process.Command is %q", command, out.Process.Command)
		}
	}
}

func commandStreams(c *check) {
	var command, want strings.Builder
	for i := range 40 {
		fmt.Fprintf(&command, "echo %d >&%d\n", i, 1+i%2)
		fmt.Fprintf(&want, "%d\n", i)
	}
	c.text(c.run(c.chat("a"), command.String()), want.String())
}

func commandStdin(c *check) {
	out := c.run(c.chat("a"), "cat; read -r line; echo read says $?")
	c.text(out, "read says 1\n")
}

func commandTerminal(c *check) {
	out := c.run(c.chat("a"), `for fd in 0 1 2; do test -t $fd && echo "$fd is a terminal"; done
(: </dev/tty) 2>/dev/null && echo "/dev/tty can be opened"
echo done`)
	c.text(out, "done\n")
}

func commandComplete(c *check) {
	m := c.chat("a")
	const n = 20000
	for range 10 {
		out := c.run(m, fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x; echo; echo the end", n))
		want := strings.Repeat("x", n) + "\nthe end\n"
		c.text(out, want)
		if out.Next != int64(len(want)) {
			c.errorf("%d bytes were printed before the exit, and Next is %d", len(want), out.Next)
		}
	}
}
