package dialogue_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/examples/internal/dialogue"
)

func TestCall(t *testing.T) {
	for _, test := range []struct{ name, arguments, want string }{
		{"null", `null`, "call  tool\n"},
		{"none", `{}`, "call  tool\n"},
		{"in their order", `{"b":"x","a":1,"c":true}`, "call  tool b=x a=1 c=true\n"},
		{"spaces", `{"a":"x y","b":["x","y"]}`, `call  tool a="x y" b=["x", "y"]` + "\n"},
		{"a command", `{"a":1,"command":"one\n\ntwo"}`, "call  tool a=1\n      $ one\n      >\n      > two\n"},
		{"no object", `["x"]`, `call  tool "[\"x\"]"` + "\n"},
		{"cut off", `{"a":`, `call  tool "{\"a\":"` + "\n"},
		{"a secret", `{"text":"hunter2","secret":"yes"}`, "call  tool text=(hidden) secret=yes\n"},
		{"long", `{"a":"` + strings.Repeat("x", dialogue.Width) + `"}`, "call  tool\n      a=" + strings.Repeat("x", dialogue.Width) + "\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b strings.Builder
			show := dialogue.Transcript{Out: &b, Column: 6}
			show.Call("call", "tool", json.RawMessage(test.arguments))
			require.Equal(t, test.want, b.String())
		})
	}
}
