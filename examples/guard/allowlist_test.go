package guard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/examples/guard"
	"github.com/toolproc/toolproc/procmgr"
)

// machine is a Manager that keeps the commands that it was to start.
type machine struct {
	procmgr.Unsupported
	ran []string
}

func (m *machine) Describe(context.Context) (procmgr.Description, error) {
	return procmgr.Description{Shell: "bash"}, nil
}

func (m *machine) Start(_ context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	m.ran = append(m.ran, req.Command)
	code := 0
	return procmgr.Output{Process: procmgr.Process{ID: req.ID, State: procmgr.Exited, ExitCode: &code}}, nil
}

// run makes calls of execute, and returns what was asked and which commands ran.
func run(t *testing.T, answers string, commands ...string) (asked string, ran []string) {
	t.Helper()
	var out bytes.Buffer
	m := &machine{}
	list := guard.NewAllowList(guard.ReadOnly(), guard.NewTerminal(strings.NewReader(answers), &out).Ask)
	set := toolset.New(toolset.Static(m), &toolset.Options{Approve: list.Approve})
	for _, command := range commands {
		arguments, err := json.Marshal(map[string]string{"command": command})
		require.NoError(t, err)
		set.Call(t.Context(), toolset.Call{Name: "execute", Arguments: arguments})
	}
	return out.String(), m.ran
}

func TestAllowList(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, answers string
		commands      []string
		questions     int
		ran           int
	}{
		{"only reads", "", []string{"cd src && grep -rn TODO . | head", "sed -n 1,40p x"}, 0, 2},
		{"yes once", "y\nn\n", []string{"rm -r build", "rm -r build"}, 3, 0}, // the program, and what it changes
		{"yes to both", "y\ny\n", []string{"rm -r build"}, 2, 1},
		{"always", "a\na\n", []string{"rm -r build", "rm -r build"}, 2, 2},
		{"a part is no compound", "a\na\nn\n", []string{"rm -r build", "rm -r build && make"}, 3, 1},
		{"a compound is no part", "a\na\na\nn\n", []string{"rm -r build && make", "make"}, 4, 1},
		{"what files say, elsewhere", "a\nn\n", []string{"make", "cd evil && make"}, 2, 1},
		{"another file", "a\na\nn\n", []string{"rm -r build", "cd x && rm -r build"}, 3, 1},
		{"a write of a program that reads", "n\n", []string{"sort -o x x"}, 1, 0},
		{"through a program that is not in the list", "n\n", []string{"sudo ls"}, 1, 0},
		{"not complete", "a\ny\n", []string{"$X", "$X"}, 2, 1},
		{"no", "no\n", []string{"make"}, 1, 0},
		{"an empty line", "\n", []string{"make"}, 1, 0},
		{"the person leaves", "", []string{"make"}, 1, 0},
		{"in the middle of a line", "y", []string{"make"}, 1, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			asked, ran := run(t, test.answers, test.commands...)
			require.Equal(t, test.questions, strings.Count(asked, "[n]o? "), asked)
			require.Len(t, ran, test.ran, asked)
		})
	}
}

// A command cannot write on the terminal of the person.
func TestControls(t *testing.T) {
	t.Parallel()
	asked, _ := run(t, "", "make '\x1b[2J\r'", "$X '\x1b[2J\u202e'")
	require.NotContains(t, asked, "\x1b")
	require.NotContains(t, asked, "\r")
	require.NotContains(t, asked, "\u202e")
}

// The terminal is closed.
func TestClosedTerminal(t *testing.T) {
	t.Parallel()
	here, there := io.Pipe()
	require.NoError(t, here.Close())
	answer, err := guard.NewTerminal(strings.NewReader("y\n"), there).Ask(t.Context(), "Run?", true)
	require.Equal(t, guard.No, answer)
	require.ErrorContains(t, err, "nobody can be asked")
}

// The answer to a question that was withdrawn does not answer the next one.
func TestWithdrawn(t *testing.T) {
	t.Parallel()
	in, person := io.Pipe()
	defer func() { _ = person.Close() }()
	out := make(chan string, 8)
	terminal := guard.NewTerminal(in, writer(out))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-out
		cancel()
		<-out
		_, _ = io.WriteString(person, "y\n")
		<-out
		_, _ = io.WriteString(person, "n\n")
	}()
	_, err := terminal.Ask(ctx, "Run?", true)
	require.ErrorIs(t, err, context.Canceled)
	answer, err := terminal.Ask(t.Context(), "Remove all?", true)
	require.NoError(t, err)
	require.Equal(t, guard.No, answer)
}

// writer sends what is written.
type writer chan string

func (w writer) Write(p []byte) (int, error) {
	w <- string(p)
	return len(p), nil
}

// Questions come one at a time, and a call whose context ends does not wait for
// its turn.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	var open, most atomic.Int32
	list := guard.NewAllowList(nil, func(context.Context, string, bool) (guard.Answer, error) {
		most.Store(max(most.Load(), open.Add(1)))
		defer open.Add(-1)
		return guard.Once, nil
	})
	var done sync.WaitGroup
	for range 20 {
		done.Go(func() {
			if _, err := list.Approve(t.Context(), toolset.Question{Command: "x"}); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	require.EqualValues(t, 1, most.Load())

	asked, release := make(chan struct{}), make(chan struct{})
	list = guard.NewAllowList(nil, func(context.Context, string, bool) (guard.Answer, error) {
		close(asked)
		<-release
		return guard.No, nil
	})
	done.Go(func() { _, _ = list.Approve(t.Context(), toolset.Question{}) })
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := list.Approve(ctx, toolset.Question{})
	require.ErrorIs(t, err, context.Canceled)
	close(release)
	done.Wait()
}
