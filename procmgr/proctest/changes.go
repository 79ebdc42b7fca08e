package proctest

import (
	"strings"

	"github.com/toolproc/toolproc/procmgr"
)

// changes compares the outputs of two processes. It returns nil if the manager
// cannot tell changes at all.
func (c *check) changes(m procmgr.Manager, before, after string) *procmgr.Changes {
	c.Helper()
	out := c.read(m, after, procmgr.OutputRequest{Against: before})
	if out.Changes == nil && c.read(m, after, procmgr.OutputRequest{Against: after}).Changes != nil {
		c.errorf("the manager tells that an output is the same as itself, and not how it differs from another one")
	}
	return out.Changes
}

func outputChanges(c *check) {
	const lines = `i=1; while [ $i -le 30 ]; do echo "line $i"; i=$((i+1)); done; `
	m := c.chat("a")
	first := c.run(m, lines+"echo 03:04:05 done").Process.ID
	for _, tt := range []struct {
		name, command string
		want          procmgr.Changes
	}{
		{"the same", lines + "echo 03:04:05 done", procmgr.Changes{Same: true, Lines: 31}},
		{"another time of day at the beginning of a line", lines + "echo 13:14:15 done", procmgr.Changes{Same: true, Lines: 31}},
		{"another time of day within a line", lines + "echo done 13:14:15", procmgr.Changes{Added: 1, Removed: 1, Lines: 31,
			Text: "@@ -29,3 +29,3 @@\n line 29\n line 30\n-03:04:05 done\n+done 13:14:15\n"}},
		{"two lines more", lines + "echo 03:04:05 done; echo; echo bye", procmgr.Changes{Added: 2, Lines: 33,
			Text: "@@ -30,2 +30,4 @@\n line 30\n 03:04:05 done\n+\n+bye\n"}},
		{"a line that looks like a hunk", lines + "echo '@@ -1 +1 @@'; echo 03:04:05 done", procmgr.Changes{Added: 1, Lines: 32,
			Text: "@@ -29,3 +29,4 @@\n line 29\n line 30\n+@@ -1 +1 @@\n 03:04:05 done\n"}},
		{"nothing", "true", procmgr.Changes{Removed: 31}},
	} {
		id := c.run(m, tt.command).Process.ID
		got := c.changes(m, first, id)
		if got == nil {
			return
		}
		if tt.name == "nothing" {
			if strings.Count(got.Text, "\n-") != 31 {
				c.errorf("31 lines have gone, and the text is %s", excerpt(got.Text))
			}
			got.Text = ""
		}
		if *got != tt.want {
			c.errorf("%s: the changes are %+v, and not %+v", tt.name, *got, tt.want)
		}
		if back := c.changes(m, id, first); back == nil || back.Added != got.Removed || back.Removed != got.Added || back.Same != got.Same {
			c.errorf("%s: the other way round the changes are %+v, and not those of %+v", tt.name, back, *got)
		}
	}
}

func outputChangesNone(c *check) {
	m, other := c.chat("a"), c.chat("b")
	id, foreign := c.run(m, "echo a").Process.ID, c.run(other, "echo a").Process.ID
	p := c.puppet(m)
	for what, against := range map[string]string{
		"nobody": c.id(), "an odd ID": "a b/../" + strings.Repeat("x", 3000), "no text": "\xff", "a process that runs": p.id, "a process of another chat": foreign, "nothing": "",
	} {
		if out := c.read(m, id, procmgr.OutputRequest{Against: against}); out.Changes != nil {
			c.errorf("the output was compared with that of %s: %+v", what, *out.Changes)
		}
	}
	if out := c.read(m, p.id, procmgr.OutputRequest{Against: id}); out.Changes != nil {
		c.errorf("the process runs, and its output was compared: %+v", *out.Changes)
	}
}
