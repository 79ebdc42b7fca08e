package proctest

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/toolproc/toolproc/procmgr"
)

var environmentCases = []testCase{
	{"of the request", "the command gets the variables of the request byte for byte, and they win over those of the host", environmentRequest},
	{"of one process only", "the variables of a request are for its process alone", environmentOwn},
	{"marks", "children see TOOLPROC=1 and TOOLPROC_PROCESS_ID, and, only if they belong to a chat, TOOLPROC_CHAT_ID", environmentMarks},
	{"marks are true", "a request cannot replace the variables that tell children their process and chat", environmentForged},
	{"secrets", "if the value of a variable of the request is masked, Output.Redacted has its name, and the value stands in no output and is found by no search; if nothing is masked, Redacted is empty", environmentSecrets},
}

func environmentRequest(c *check) {
	env := map[string]string{
		"EMPTY":      "",
		"lower_case": "1",
		"SPACES":     "  a  b  ",
		"LINES":      "one\ntwo\n",
		"QUOTES":     `it's "$HOME" \ %s`,
		"SIGNS":      "<>&=a=b",
		"RUNES":      "ä€😀\u2028",
		"CONTROLS":   "\x01\t\x7f",
		"PAGER":      "the request's own",
		"LONG":       strings.Repeat("x", 10000),
	}
	m := c.chat("a")
	for name, value := range env {
		out := c.runAs(m, procmgr.StartRequest{Command: `printf '%s' "${` + name + `-unset}"`, Env: env})
		if out.Text != value {
			c.errorf("the request's variable %s is %s, and the command sees %s", name, excerpt(value), excerpt(out.Text))
		}
	}
	if len(env) != 10 {
		c.errorf("Start changed the map of its request: %d variables are left", len(env))
	}
}

func environmentOwn(c *check) {
	m := c.chat("a")
	const command = `echo "${OF_ANOTHER_REQUEST-unset}"`
	c.text(c.runAs(m, procmgr.StartRequest{Command: command, Env: map[string]string{"OF_ANOTHER_REQUEST": "set"}}), "set\n")
	c.text(c.run(m, command), "unset\n")
}

const printMarks = `echo "${TOOLPROC-unset} ${TOOLPROC_PROCESS_ID-unset} ${TOOLPROC_CHAT_ID-unset}"`

func environmentMarks(c *check) {
	out := c.run(c.chat("a"), printMarks)
	c.text(out, fmt.Sprintf("1 %s %s\n", out.Process.ID, c.chatName("a")))
	own, chat := c.own()
	out = c.run(own, printMarks)
	c.text(out, fmt.Sprintf("1 %s %s\n", out.Process.ID, cmp.Or(chat, "unset")))
	out = c.run(own, "sh -c '"+printMarks+"'")
	c.text(out, fmt.Sprintf("1 %s %s\n", out.Process.ID, cmp.Or(chat, "unset")))
}

func environmentForged(c *check) {
	forged := map[string]string{"TOOLPROC": "forged", "TOOLPROC_PROCESS_ID": "forged", "TOOLPROC_CHAT_ID": "forged"}
	out := c.runAs(c.chat("a"), procmgr.StartRequest{Command: printMarks, Env: forged})
	c.text(out, fmt.Sprintf("1 %s %s\n", out.Process.ID, c.chatName("a")))
	own, chat := c.own()
	out = c.runAs(own, procmgr.StartRequest{Command: printMarks, Env: forged})
	c.text(out, fmt.Sprintf("1 %s %s\n", out.Process.ID, cmp.Or(chat, "unset")))
}

func environmentSecrets(c *check) {
	const name, value, mask = "PROCTEST_TOKEN", "k7Qm2Xw9Rt4Vz8Lp1Nc6", "[withheld: PROCTEST_TOKEN]"
	m := c.chat("a")
	out := c.runAs(m, procmgr.StartRequest{Command: `echo "one $` + name + `"; echo "two $` + name + `"`, Env: map[string]string{name: value}})
	if len(out.Redacted) == 0 {
		c.text(out, "one "+value+"\ntwo "+value+"\n")
		return
	}
	c.text(out, "one "+mask+"\ntwo "+mask+"\n")
	if len(out.Redacted) != 1 || out.Redacted[0] != name {
		c.errorf("Redacted is %q, and had to be the name of the variable, %q", out.Redacted, name)
	}
	found := c.read(m, out.Process.ID, procmgr.OutputRequest{Until: value[5:15]})
	if found.Matched || strings.Contains(found.Text, value) {
		c.errorf("a search for a part of a masked value returned the line %q and the text %s", found.MatchedLine, excerpt(found.Text))
	}
	found = c.read(m, out.Process.ID, procmgr.OutputRequest{Until: "^two .*"})
	if found.MatchedLine != "two "+mask {
		c.errorf("the line with a masked value is %q, and had to be %q", found.MatchedLine, "two "+mask)
	}
}
