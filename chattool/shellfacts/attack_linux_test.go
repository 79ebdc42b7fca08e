package shellfacts_test

import (
	"os"
	"strings"
	"testing"

	"github.com/toolproc/toolproc/chattool/shellfacts"
)

func TestScratch(t *testing.T) {
	data, _ := os.ReadFile(os.Getenv("ATTACKS"))
	sh := os.Getenv("ATTACK_SHELL")
	if sh == "" {
		sh = "bash"
	}
	o := newOracle(t, sh)
	n, complete := 0, 0
	for _, c := range strings.Split(string(data), "\n") {
		if c == "" || c[0] == '#' {
			continue
		}
		c = strings.ReplaceAll(c, "¶", "\n")
		n++
		facts := shellfacts.Parse(c, sh)
		if !facts.Complete {
			continue
		}
		complete++
		if why := o.unknown(facts, o.deeds(t, c, workspace(t))); why != "" {
			t.Errorf("%q: %s\n   %+v", c, why, facts)
		}
	}
	t.Logf("%d commands, %d complete", n, complete)
}
