package toolset_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
)

// A shelled is a fake that tells its shell.
type shelled struct {
	*fake
	name  string
	err   error
	panic bool
	rules *procmgr.SandboxRules
	asked atomic.Int32
}

func (m *shelled) Describe(ctx context.Context) (procmgr.Description, error) {
	m.asked.Add(1)
	if m.panic {
		panic("ouch")
	}
	return procmgr.Description{Shell: m.name, Sandbox: m.rules}, cmp.Or(m.err, ctx.Err())
}

func (m *shelled) Events(context.Context, procmgr.EventsRequest) (procmgr.EventPage, error) {
	return procmgr.EventPage{Next: "0"}, nil
}

// described is the description of execute.
func described(set *toolset.Set) string { return set.Definitions()[0].Description }

const (
	someShell = "Run a shell command (bash -c if there is a bash, else sh -c) and return"
	bashShell = "Run a shell command (bash -c) and return"
	dashShell = "Run a shell command (sh -c, not bash) and return"
)

func TestDescribedShell(t *testing.T) {
	t.Parallel()
	told := func(name string) toolset.Resolver { return toolset.Static(&shelled{fake: &fake{}, name: name}) }
	for _, tt := range []struct {
		name     string
		resolver toolset.Resolver
		want     string
	}{
		{"bash", told("bash"), bashShell},
		{"sh", told("sh"), dashShell},
		{"zsh", told("zsh"), "Run a shell command (zsh -c) and"},
		{"cmd", told("cmd"), "Run a shell command (cmd) and"},
		{"cannot tell", told(""), someShell},
		{"cannot describe", toolset.Static(&fake{}), someShell},
		{"fails", toolset.Static(&shelled{fake: &fake{}, err: errors.New("no line")}), someShell},
		{"panics", toolset.Static(&shelled{fake: &fake{}, panic: true}), someShell},
		{"the resolver fails", func(context.Context) (procmgr.Manager, error) { return nil, errors.New("no chat") }, someShell},
		{"the resolver panics", func(ctx context.Context) (procmgr.Manager, error) { return ctx.Value(chatKey{}).(procmgr.Manager), nil }, someShell},
		{"no manager", func(context.Context) (procmgr.Manager, error) { return nil, nil }, someShell},
		{"said", told("bash"), dashShell},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set := newSet(tt.resolver, &toolset.Options{Shell: map[string]string{"said": "sh"}[tt.name]})
			first := described(set)
			require.Contains(t, first, tt.want)
			require.Equal(t, first, described(set))
			for _, def := range set.Definitions() {
				require.NotContains(t, def.Description+string(def.Schema), "{shell}")
			}
		})
	}
}

// The description of execute tells the rules of the sandbox.
func TestDescribedSandbox(t *testing.T) {
	t.Parallel()
	m := &shelled{fake: &fake{}, name: "bash", rules: &procmgr.SandboxRules{Write: []string{"/work"}, NoNetwork: true}}
	const rules = " use workdir. Commands may write only below $TMPDIR, /work; have no network. "
	for _, opts := range []*toolset.Options{nil, {Input: true}} {
		set := newSet(toolset.Static(m), opts)
		require.Contains(t, described(set), rules)
		for _, def := range set.Definitions() {
			require.NotContains(t, def.Description, "{rules}")
		}
	}
	m.rules.NoLoopback = true
	require.Contains(t, described(newSet(toolset.Static(m), nil)), "; have no network, not even loopback, so no servers. ")
	require.Contains(t, described(newSet(toolset.Static(&shelled{fake: &fake{}}), nil)), "use workdir. No terminal")
}

// Managers are asked once, and what is known does not change.
func TestShellIsAskedOnce(t *testing.T) {
	t.Parallel()
	m := &shelled{fake: &fake{}, name: "bash"}
	set := newSet(toolset.Static(m), nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if first := described(set); first != described(set) {
				t.Error("two descriptions")
			}
		})
	}
	wg.Wait()
	for range 3 {
		set.Call(t.Context(), toolset.Call{Name: "execute", Arguments: json.RawMessage(`{"command":"x"}`)})
		set.Call(t.Context(), toolset.Call{Name: "process_output", Arguments: json.RawMessage(`{"process_id":"p1"}`)})
	}
	require.EqualValues(t, 1, m.asked.Load())
	require.Contains(t, described(set), bashShell)
}

// A resolver that has to know the chat learns of none from Definitions: the
// first call tells, and the description is the same from then on.
func TestShellOfTheFirstCall(t *testing.T) {
	t.Parallel()
	managers := map[any]*shelled{"a": {fake: &fake{}, name: "sh"}, "b": {fake: &fake{}, name: "bash"}}
	set := newSet(func(ctx context.Context) (procmgr.Manager, error) {
		m, ok := managers[ctx.Value(chatKey{})]
		if !ok {
			return nil, errors.New("the call belongs to no chat")
		}
		return m, nil
	}, nil)
	require.Contains(t, described(set), someShell)
	for _, chat := range []string{"a", "b", "a"} {
		ctx := context.WithValue(t.Context(), chatKey{}, chat)
		set.Call(ctx, toolset.Call{Name: "execute", Arguments: json.RawMessage(`{"command":"make"}`)})
		require.Contains(t, described(set), dashShell)
	}
}

// A server that does not answer in time is asked again by the next call.
func TestShellIsAskedAgain(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	set := newSet(toolset.Static(&shelled{fake: &fake{}, name: "sh"}), nil)
	set.Call(ctx, toolset.Call{Name: "process_output", Arguments: json.RawMessage(`{"process_id":"p1"}`)})
	say(t, set, "execute", `{"command":"x"}`)
	require.Contains(t, described(set), dashShell)
}

// A resolver that does not return delays Definitions only briefly.
func TestShellOfAStuckResolver(t *testing.T) {
	t.Parallel()
	stuck := make(chan struct{})
	returned := make(chan struct{})
	set := newSet(func(context.Context) (procmgr.Manager, error) {
		defer close(returned)
		<-stuck
		return &shelled{fake: &fake{}, name: "sh"}, nil
	}, nil)
	require.Contains(t, described(set), someShell)
	close(stuck)
	<-returned
}

// Commands are read as their shell reads them.
func TestShellReadsTheCommand(t *testing.T) {
	t.Parallel()
	for shell, taken := range map[string]bool{"bash": true, "": true, "sh": false, "cmd": false} {
		m := &shelled{fake: &fake{}, name: shell}
		call(t, m, nil, "execute", `{"command":"cd /srv; serve ${b//x/y} &"}`)
		require.Equal(t, taken, m.starts[0].Background, shell)
	}
}
