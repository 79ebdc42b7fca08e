package policy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/shellfacts/policy"
	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// rules is a sandbox that only says what it forbids.
type rules struct{}

func (rules) Argv(argv []string) ([]string, error) { return argv, nil }

func (rules) OnThread(start func() error) error { return start() }

func (rules) Rules() procmgr.SandboxRules { return procmgr.SandboxRules{Write: []string{"/work"}} }

// denied has a note on a command that was denied something.
func denied(r toolset.Report) []string {
	if strings.Contains(*r.Output, "Permission denied") {
		return []string{"A rule of the sandbox may be the reason."}
	}
	return nil
}

// boxed returns a function that makes a call of a tool, and what was asked so far. A
// command knows by $PLACE where it runs.
func boxed(t *testing.T, answers string) (call func(tool string, arguments map[string]any) toolset.Result, asked *bytes.Buffer) {
	t.Helper()
	manager := func(place string, box proclocal.Sandbox) procmgr.Manager {
		l, err := proclocal.New(&proclocal.Options{
			WorkDir: "/", Sandbox: box,
			Env: envpolicy.Policy{Set: map[string]string{"PLACE": place}},
		})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, l.Close()) })
		return l.Chat("chat-1")
	}
	asked = new(bytes.Buffer)
	b := policy.NewBoxed(manager("box", rules{}), manager("free", nil), policy.NewTerminal(script(answers), asked).Ask, denied)
	set, err := toolset.New(toolset.Static(b), &toolset.Options{Approve: b.Approve, Advise: b.Advise, Input: true})
	require.NoError(t, err)
	return func(tool string, arguments map[string]any) toolset.Result {
		raw, err := json.Marshal(arguments)
		require.NoError(t, err)
		return set.Call(t.Context(), toolset.Call{Name: tool, Arguments: raw})
	}, asked
}

const (
	// stopped fails in the box as a write outside of it does.
	stopped = `echo $PLACE; [ $PLACE = free ] || { echo "touch: cannot touch '/etc/x': Permission denied"; exit 1; }`
	// failed fails anywhere, for another reason.
	failed = `echo $PLACE; exit 3`
)

func TestBoxed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, answers string
		commands      []string
		questions     int
		places        string // "-" is for a command that did not run
	}{
		{"nothing is asked before", "", []string{"echo $PLACE; rm -f /nothing", failed, failed, stopped}, 0, "box box box box"},
		{"yes", "y\n", []string{stopped, stopped}, 1, "box free"},
		{"yes counts once", "y\ny\n", []string{stopped, stopped, stopped}, 2, "box free free"},
		{"always", "a\n", []string{stopped, stopped, stopped}, 1, "box free free"},
		{"another command", "a\n", []string{stopped, stopped + "; true", stopped}, 1, "box box free"},
		{"no", "n\n", []string{stopped, stopped, stopped}, 1, "box - box"},
		{"the person leaves", "", []string{stopped, stopped, stopped}, 2, "box - -"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			call, asked := boxed(t, test.answers)
			var places []string
			for _, command := range test.commands {
				res := call("execute", map[string]any{"command": command})
				place := "-"
				if !res.Report.Denied {
					place, _, _ = strings.Cut(*res.Report.Output, "\n")
				}
				places = append(places, place)
			}
			require.Equal(t, test.places, strings.Join(places, " "))
			require.Equal(t, test.questions, strings.Count(asked.String(), "[n]o? "), asked)
		})
	}
}

// A program that forges the denial gets a question, which shows the command. What is
// typed into a process outside of the box is asked about as well.
func TestBoxedInput(t *testing.T) {
	t.Parallel()
	call, asked := boxed(t, "y\ny\nn\n")
	const shell = `echo $PLACE; [ $PLACE = free ] || { echo "/x: Permission denied"; exit 1; }; while read -r x; do echo "got $x"; done`
	arguments := map[string]any{"command": shell, "stdin": "open", "timeout": "1s"}
	require.Contains(t, call("execute", arguments).Content, "A rule of the sandbox")
	id := call("execute", arguments).Output.Process.ID
	require.Contains(t, asked.String(), "Permission denied", "the person reads the command")
	input := map[string]any{"process_id": id, "text": "one\n", "wait_for": "got"}
	require.Contains(t, *call("process_input", input).Report.Output, "got one")
	require.True(t, call("process_input", input).Report.Denied)
	require.Equal(t, 3, strings.Count(asked.String(), "[n]o? "), asked)
	// Both places are one to the model.
	require.Len(t, call("process_list", nil).Report.Processes, 2)
	call("process_signal", map[string]any{"process_id": id, "signal": "kill"})
	require.Equal(t, procmgr.Exited, call("process_output", map[string]any{"process_id": id}).Output.Process.State)
	require.Equal(t, 3, strings.Count(asked.String(), "[n]o? "), asked)
}

// A call that ends between the yes and the start leaves nothing that a later no does not
// take back.
func TestBoxedWithdrawn(t *testing.T) {
	t.Parallel()
	box, free := newMachine(t), newMachine(t)
	answers := []policy.Answer{policy.Once, policy.No}
	b := policy.NewBoxed(box, free, func(context.Context, string, bool) (policy.Answer, error) {
		answer := answers[0]
		answers = answers[1:]
		return answer, nil
	}, denied)
	question := toolset.Question{Command: "make"}
	start := func(id string) {
		t.Helper()
		out, err := b.Start(t.Context(), procmgr.StartRequest{ID: id, Command: "make"})
		require.NoError(t, err)
		text := "Permission denied"
		require.Len(t, b.Advise(toolset.Report{Process: &out.Process, Output: &text}), 1)
	}
	ask := func() toolset.Verdict {
		t.Helper()
		verdict, err := b.Approve(t.Context(), question)
		require.NoError(t, err)
		return verdict
	}
	start("1")
	require.False(t, ask().Deny, "and the call ends before its start")
	require.True(t, ask().Deny)
	require.False(t, ask().Deny, "in the box")
	start("2")
	require.Len(t, box.Started(), 2)
	require.Empty(t, free.Started())
}

// What may have run outside before the Boxed was made does not run again in the box.
func TestBoxedAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box, free := newMachine(t), newMachine(t)
		time.Sleep(time.Hour)
		b := policy.NewBoxed(box, free, nil, nil)
		time.Sleep(time.Minute)
		for age, want := range map[time.Duration]error{0: nil, time.Minute: nil, 2 * time.Minute: procmgr.ErrUnknown} {
			for range 2 {
				_, err := b.Start(t.Context(), procmgr.StartRequest{ID: age.String(), Command: "true", Age: age})
				require.ErrorIs(t, err, want, age)
			}
		}
	})
}
