package toolset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
)

// placed is a manager whose processes run where the request says, else in /home.
func placed(chat string) *fake {
	at := func(id, dir string) procmgr.Output {
		out := exited(id, 0, "")
		out.Process.ChatID, out.Process.WorkDir = chat, dir
		if dir == "" {
			out.Process.WorkDir = "/home"
		}
		return out
	}
	return &fake{
		start: func(_ context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
			return at(req.ID, req.WorkDir), nil
		},
		output: func(_ context.Context, id string, _ procmgr.OutputRequest) (procmgr.Output, error) {
			return at(id, map[string]string{"elsewhere": "/srv"}[id]), nil
		},
	}
}

// A step is a call, and the workdir that its result has to name; "" for none.
type step struct{ tool, arguments, want string }

// walk makes calls one after the other.
func walk(ctx context.Context, t *testing.T, set *toolset.Set, steps ...step) {
	t.Helper()
	for i, s := range steps {
		got := contents(t, set.Call(ctx, toolset.Call{Name: s.tool, Arguments: json.RawMessage(s.arguments)}))
		dir, _ := got["workdir"].(string)
		require.Equal(t, s.want, dir, "call %d: %s %s", i, s.tool, s.arguments)
	}
}

// A model is told where it is: in the first result, and whenever that changes.
func TestWorkDirIsTold(t *testing.T) {
	t.Parallel()
	walk(t.Context(), t, newSet(toolset.Static(placed("chat-1")), nil),
		step{"process_list", `{}`, ""},
		step{"process_output", `{"process_id":"a"}`, "/home"},
		step{"execute", `{"command":"x"}`, ""},
		step{"execute", `{"command":"x","workdir":"/home"}`, ""},
		step{"execute", `{"command":"x","workdir":"/tmp"}`, "/tmp"},
		step{"execute", `{"command":"x","workdir":"/tmp","run_in_background":true}`, ""},
		step{"process_output", `{"process_id":"elsewhere"}`, "/srv"},
		step{"process_signal", `{"process_id":"a","signal":"kill"}`, ""},
		step{"execute", `{"command":"x"}`, "/home"},
		step{"execute", `{"command":" "}`, ""},
		step{"execute", `{"command":"x"}`, ""},
	)
}

// odd is a Manager that is no key of a map.
type odd struct {
	procmgr.Manager
	_ []int
}

// Each chat is told for itself; a chat is known by its ID, since its manager may
// be made anew for each call.
func TestWorkDirIsToldToEachChat(t *testing.T) {
	t.Parallel()
	type key struct{}
	set := newSet(func(ctx context.Context) (procmgr.Manager, error) {
		return ctx.Value(key{}).(func() procmgr.Manager)(), nil
	}, nil)
	in := func(manager func() procmgr.Manager) context.Context {
		return context.WithValue(t.Context(), key{}, manager)
	}
	a := in(func() procmgr.Manager { return placed("a") })
	b := in(func() procmgr.Manager { return placed("b") })
	one, two := placed(""), placed("")
	told, known := step{"execute", `{"command":"x"}`, "/home"}, step{"execute", `{"command":"x"}`, ""}
	walk(a, t, set, told, known)
	walk(b, t, set, told, known)
	walk(in(func() procmgr.Manager { return one }), t, set, told, known)
	walk(in(func() procmgr.Manager { return two }), t, set, told, known)
	walk(in(func() procmgr.Manager { return odd{Manager: one} }), t, set, told, known)
	walk(a, t, set, known)

	// Beyond a bound all are told once more, and nothing grows.
	for i := range 2000 {
		walk(in(func() procmgr.Manager { return placed(fmt.Sprint("chat ", i)) }), t, set, told)
	}
	walk(a, t, set, told, known)
}
