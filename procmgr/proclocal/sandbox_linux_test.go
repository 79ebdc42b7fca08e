package proclocal_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A box is a Sandbox that a test has made.
type box struct {
	wrap    func(argv []string) ([]string, error)
	thread  func(start func() error) error
	rules   procmgr.SandboxRules
	environ []string
	wraps   bool
	starts  atomic.Int32
}

func (b *box) Argv(argv []string) ([]string, error) {
	if b.wrap == nil {
		return argv, nil
	}
	return b.wrap(argv)
}

func (b *box) OnThread(start func() error) error {
	if b.thread != nil {
		return b.thread(start)
	}
	b.starts.Add(1)
	return start()
}

func (b *box) Rules() procmgr.SandboxRules { return b.rules }
func (b *box) Environ() []string           { return b.environ }
func (b *box) Wraps() bool                 { return b.wraps }

// A Sandbox gets the shell and the command, and the dialect still follows
// Options.Shell.
func TestSandboxArgv(t *testing.T) {
	b := &box{
		wrap: func(argv []string) ([]string, error) {
			return append([]string{"env", "WRAPPED=" + strings.Join(argv[:2], " ")}, argv...), nil
		},
		environ: []string{"TMPDIR=/box"},
		rules:   procmgr.SandboxRules{Write: []string{"/work"}, NoNetwork: true},
	}
	l := newLocal(t, &proclocal.Options{Sandbox: b, Shell: []string{"sh", "-c"}})
	t.Setenv("TMPDIR", "/elsewhere")
	out := finish(t, l, procmgr.StartRequest{Command: `echo "$WRAPPED, $TMPDIR"`})
	require.Equal(t, "sh -c, /box\n", out.Text)
	out = finish(t, l, procmgr.StartRequest{Command: `echo "$TMPDIR"`, Env: map[string]string{"TMPDIR": "/own"}})
	require.Equal(t, "/own\n", out.Text)
	require.EqualValues(t, 2, b.starts.Load())

	d, err := l.Describe(t.Context())
	require.NoError(t, err)
	require.Equal(t, "sh", d.Shell)
	require.Equal(t, &b.rules, d.Sandbox)
	d.Sandbox.Write[0] = "/" // it is the caller's own
	d, err = l.Chat("a").Describe(t.Context())
	require.NoError(t, err)
	require.Equal(t, &b.rules, d.Sandbox)
}

// A chat's sandbox holds the commands of that chat alone. Its rules are not told as the
// rules of all commands.
func TestPerChatSandbox(t *testing.T) {
	wrapping := func(name string) *box {
		return &box{wrap: func(argv []string) ([]string, error) { return append([]string{"env", "BOX=" + name}, argv...), nil }}
	}
	all, own := wrapping("all"), wrapping("own")
	all.rules.Write, own.rules.Write = []string{"/all"}, []string{"/own"}
	failure := error(nil)
	l := newLocal(t, &proclocal.Options{Sandbox: all, PerChat: func(_ context.Context, chatID string) (*proclocal.ChatOptions, error) {
		if chatID == "a" {
			return &proclocal.ChatOptions{Sandbox: own}, nil
		}
		return nil, failure
	}})
	for m, want := range map[procmgr.Manager]string{l: "all", l.Chat("a"): "own", l.Chat("b"): "all"} {
		require.Equal(t, want+"\n", run(t, m, "echo $BOX").Text)
		d, err := m.Describe(t.Context())
		require.NoError(t, err)
		if m == l {
			require.Nil(t, d.Sandbox, "the rules differ between chats")
		} else {
			require.Equal(t, []string{"/" + want}, d.Sandbox.Write)
		}
	}
	failure = errors.New("this account is suspended")
	d, err := l.Chat("b").Describe(t.Context())
	require.NoError(t, err)
	require.Nil(t, d.Sandbox)
	require.EqualValues(t, 2, all.starts.Load())
	require.EqualValues(t, 1, own.starts.Load())
}

// The leader is forked by the thread on which the Sandbox calls.
func TestSandboxThread(t *testing.T) {
	b := &box{thread: func(start func() error) (err error) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread() // the thread ends with the goroutine
			const setNoNewPrivs = 38
			_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, setNoNewPrivs, 1, 0, 0, 0, 0)
			if errno != 0 {
				err = errno
				return
			}
			err = start()
		}()
		<-done
		return err
	}}
	own := finish(t, newLocal(t, nil), procmgr.StartRequest{Command: "grep NoNewPrivs /proc/self/status"})
	require.Equal(t, "NoNewPrivs:\t0\n", own.Text)
	out := finish(t, newLocal(t, &proclocal.Options{Sandbox: b}), procmgr.StartRequest{Command: "grep NoNewPrivs /proc/self/status"})
	require.Equal(t, "NoNewPrivs:\t1\n", out.Text)
}

// If the Sandbox refuses, nothing is started, and the error says what it has said.
func TestSandboxRefuses(t *testing.T) {
	refusal := errors.New("the directory /work is gone")
	for name, b := range map[string]*box{
		"argv":    {wrap: func([]string) ([]string, error) { return nil, refusal }},
		"thread":  {thread: func(func() error) error { return refusal }},
		"nothing": {wrap: func([]string) ([]string, error) { return nil, nil }},
		"no call": {thread: func(func() error) error { return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLocal(t, &proclocal.Options{Sandbox: b})
			_, err := l.Start(t.Context(), procmgr.StartRequest{ID: "a", Command: "true", Wait: long})
			if strings.HasPrefix(name, "no") {
				require.ErrorIs(t, err, procmgr.ErrInvalid)
			} else {
				require.ErrorIs(t, err, refusal)
			}
			_, err = l.Output(t.Context(), "a", procmgr.OutputRequest{})
			require.ErrorIs(t, err, procmgr.ErrNotFound)
		})
	}
}

// A program in front of the shell does not get the signals that the shell has to
// answer.
func TestSandboxWraps(t *testing.T) {
	wrap := func(argv []string) ([]string, error) {
		return append([]string{"sh", "-c", `"$@"; exit $?`, "wrapper"}, argv...), nil
	}
	l := newLocal(t, &proclocal.Options{Sandbox: &box{wrap: wrap, wraps: true}})
	for sig, name := range map[procmgr.Signal]string{procmgr.Terminate: "TERM", procmgr.Interrupt: "INT"} {
		out := begin(t, l, `trap 'echo got; exit 7' `+name+`; echo ready; while :; do sleep 0.05; done`)
		require.NoError(t, l.Signal(t.Context(), out.Process.ID, sig))
		out = ended(t, l, out.Process.ID)
		require.Contains(t, out.Text, "got\n") // bash also tells of the end of its sleep
		require.Equal(t, 7, *out.Process.ExitCode)
		require.Empty(t, out.Process.Signal)
	}

	// As long as there is no shell, the program in front of it ends.
	alone := func([]string) ([]string, error) { return []string{"sleep", "1000"}, nil }
	l = newLocal(t, &proclocal.Options{Sandbox: &box{wrap: alone, wraps: true}})
	out := start(t, l, procmgr.StartRequest{Command: "true"})
	require.NoError(t, l.Signal(t.Context(), out.Process.ID, procmgr.Terminate))
	require.Equal(t, "SIGTERM", ended(t, l, out.Process.ID).Process.Signal)
}
