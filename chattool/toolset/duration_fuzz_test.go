package toolset_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
)

// spelledOut is one amount as people write it.
var spelledOut = regexp.MustCompile(`^([0-9]{1,9}) ?(s|sec|secs|seconds|m|min|minutes|h|hr|hours)$`)

// A duration that Go reads is that one, a single amount in words is Go's with the
// first letter of its unit, and whatever else is taken is a wait that is allowed.
func FuzzDuration(f *testing.F) {
	for _, seed := range []string{"30s", "10 minutes", "5 min", "1 hour and 5 min.", "1h, 30m", "-5 min", "600", "601", "1e9", "9999999999 hours", "1 m 1", ".", ""} {
		f.Add(seed)
	}
	const longest = 3 * time.Hour
	m := &fake{}
	set := newSet(toolset.Static(m), &toolset.Options{MaxTimeout: longest})
	f.Fuzz(func(t *testing.T, value string) {
		m.starts = nil
		res := set.Call(t.Context(), toolset.Call{Name: "execute", Arguments: []byte(arguments(t, "command", "x", "timeout", value))})
		plain := strings.TrimSpace(value)
		want, err := time.ParseDuration(plain)
		if amount := spelledOut.FindStringSubmatch(plain); amount != nil {
			want, err = time.ParseDuration(amount[1] + amount[2][:1])
		}
		if err == nil && want >= 0 && !regexp.MustCompile(`^[0-9.eE+-]*$`).MatchString(plain) {
			requireWait(t, m.starts, min(want, longest), res.Content)
		}
		for _, req := range m.starts {
			if req.Wait < 0 || req.Wait > longest {
				t.Fatalf("%q waits %v", value, req.Wait)
			}
		}
		if len(m.starts) == 0 && !strings.Contains(res.Content, "want a duration such as") &&
			!strings.Contains(res.Content, "write the one that is meant") {
			t.Fatalf("%q is refused without a hint: %s", value, res.Content)
		}
	})
}

func requireWait(t *testing.T, starts []procmgr.StartRequest, want time.Duration, content string) {
	t.Helper()
	if len(starts) != 1 || starts[0].Wait != want {
		t.Fatal(fmt.Sprint("want ", want, ", got ", starts, ": ", content))
	}
}
