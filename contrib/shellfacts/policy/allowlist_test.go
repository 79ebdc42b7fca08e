package policy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/shellfacts/policy"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// newMachine returns a Manager whose commands end at once.
func newMachine(t *testing.T) *proctest.Script {
	s := proctest.NewScript()
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	s.Description.Shell = "bash"
	s.On("*", proctest.Prints("", 0))
	return s
}

// run makes calls of execute, and returns what was asked and which commands ran. A person
// types the answers, one letter at a time: what is read at once counts as typed before.
func run(t *testing.T, answers string, commands ...string) (asked string, ran []string) {
	t.Helper()
	var out bytes.Buffer
	m := newMachine(t)
	list := policy.NewAllowList(policy.ReadOnly(), policy.NewTerminal(iotest.OneByteReader(strings.NewReader(answers)), &out).Ask)
	set, err := toolset.New(toolset.Static(m), &toolset.Options{Approve: list.Approve})
	require.NoError(t, err)
	for _, command := range commands {
		arguments, err := json.Marshal(map[string]string{"command": command})
		require.NoError(t, err)
		set.Call(t.Context(), toolset.Call{Name: "execute", Arguments: arguments})
	}
	for _, req := range m.Started() {
		ran = append(ran, req.Command)
	}
	return out.String(), ran
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
		{"yes once", "y\nn\n", []string{"rm -r build", "rm -r build"}, 2, 1},
		{"one question for all parts", "y\n", []string{"rm -r build && make && touch a b c"}, 1, 1},
		{"always", "a\n", []string{"rm -r build", "rm -r build"}, 1, 2},
		{"a part is no compound", "a\nn\n", []string{"rm -r build", "rm -r build && make"}, 2, 1},
		{"a compound is no part", "a\nn\n", []string{"rm -r build && make", "make"}, 2, 1},
		{"the parts of a compound", "a\n", []string{"rm -r build && touch a", "touch a && rm -r build"}, 1, 2},
		{"what files say, elsewhere", "a\nn\n", []string{"make", "cd evil && make"}, 2, 1},
		{"another file", "a\nn\n", []string{"rm -r build", "cd x && rm -r build"}, 2, 1},
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

// What cannot be seen, or moves the cursor, is shown by its number, and is not what is run
// next to it.
func TestInvisibleLetters(t *testing.T) {
	t.Parallel()
	for _, r := range "\x1b\r\u3164\u115f\u1160\uffa0\u2800\u034f\u17b4\u180b\ufe0f\U000e0100\u200b\u200d\u00ad\u202e\u2066\u2069\u061c\u00a0\u3000\u2028\ufeff\U000e0001\U0001d159" {
		for _, command := range []string{"make a" + string(r) + "b", "make\na" + string(r), "$X " + string(r)} {
			asked, ran := run(t, "n\n", command)
			require.Empty(t, ran)
			require.NotContains(t, asked, string(r), "%U", r)
			require.Contains(t, asked, strings.Trim(strconv.QuoteToASCII(string(r)), `"`), "%U", r)
		}
	}
	asked, _ := run(t, "", "make é 漢字 한글 עברית ❤")
	require.Contains(t, asked, "é 漢字 한글 עברית ❤")
}

// The command is shown once, whole, with its parts.
func TestOneQuestion(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 50_000)
	asked, _ := run(t, "", "ls\nmake "+long+"\ncat f > a; touch b; touch c")
	require.Equal(t, 1, strings.Count(asked, long))
	require.Less(t, len(asked), len(long)+1000)
	require.Contains(t, asked, "\n    \"ls\"")
	require.Contains(t, asked, "\n    \"make x")
	require.Contains(t, asked, "\n  - Run \"touch\" \"b\"")
	require.Contains(t, asked, "\n  - Change the file \"a\"")
	require.NotContains(t, asked, "Run \"cat\"")
}

// The terminal is closed.
func TestClosedTerminal(t *testing.T) {
	t.Parallel()
	here, there := io.Pipe()
	require.NoError(t, here.Close())
	answer, err := policy.NewTerminal(strings.NewReader("y\n"), there).Ask(t.Context(), "Run?", true)
	require.Equal(t, policy.No, answer)
	require.ErrorContains(t, err, "nobody can be asked")
}

// The answer to a question that was withdrawn does not answer the next one.
func TestWithdrawn(t *testing.T) {
	t.Parallel()
	in, person := io.Pipe()
	defer func() { _ = person.Close() }()
	out := make(chan string, 8)
	terminal := policy.NewTerminal(in, writer(out))
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
	require.Equal(t, policy.No, answer)
}

// What was read before a question does not answer it.
func TestReadBefore(t *testing.T) {
	t.Parallel()
	terminal := policy.NewTerminal(strings.NewReader("y\ny\n"), io.Discard)
	answer, err := terminal.Ask(t.Context(), "Run?", true)
	require.NoError(t, err)
	require.Equal(t, policy.Once, answer)
	answer, err = terminal.Ask(t.Context(), "Remove all?", true)
	require.Error(t, err)
	require.Equal(t, policy.No, answer)
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
	list := policy.NewAllowList(nil, func(context.Context, string, bool) (policy.Answer, error) {
		most.Store(max(most.Load(), open.Add(1)))
		defer open.Add(-1)
		return policy.Once, nil
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
	list = policy.NewAllowList(nil, func(context.Context, string, bool) (policy.Answer, error) {
		close(asked)
		<-release
		return policy.No, nil
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
