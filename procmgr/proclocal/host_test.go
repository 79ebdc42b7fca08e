package proclocal_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

func atoi(t testing.TB, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	require.NoError(t, err)
	return n
}

func TestEnv(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	t.Setenv("PLAIN", "from the host")
	t.Setenv("TOOLPROC_CHAT_ID", "of the manager around this one")
	t.Setenv("TOOLPROC_C_OUTER", "1")
	env := func(t *testing.T, o *proclocal.Options, req map[string]string) map[string]string {
		l := newLocal(t, o)
		out := start(t, l, procmgr.StartRequest{ID: "x", Command: "env -0 | tr '\\0' '\\1'", Env: req, Wait: long})
		all := map[string]string{}
		for _, kv := range strings.Split(strings.TrimSuffix(out.Text, "\x01"), "\x01") {
			name, value, _ := strings.Cut(kv, "=")
			require.NotContains(t, all, name)
			all[name] = value
		}
		return all
	}
	t.Run("default", func(t *testing.T) {
		all := env(t, nil, map[string]string{"MINE": "a\nb", "TERM": "xterm", "TOOLPROC_PROCESS_ID": "forged"})
		require.NotContains(t, all, "OPENAI_API_KEY")
		require.Equal(t, "from the host", all["PLAIN"])
		require.Equal(t, "a\nb", all["MINE"])
		require.Equal(t, "xterm", all["TERM"])
		require.Equal(t, "cat", all["PAGER"])
		require.Equal(t, "1", all["TOOLPROC"])
		require.Equal(t, "x", all["TOOLPROC_PROCESS_ID"])
		require.NotContains(t, all, "TOOLPROC_CHAT_ID", "this process is in no chat")
		require.Equal(t, "1", all["TOOLPROC_C_OUTER"])
	})
	t.Run("none", func(t *testing.T) {
		needs(t, "place to find programs in without PATH")
		all := env(t, &proclocal.Options{Env: envpolicy.Policy{IncludeOnly: []string{}}}, nil)
		require.NotContains(t, all, "PLAIN")
		require.Equal(t, "1", all["TOOLPROC_C_OUTER"], "the manager around this one must find its own")
	})
	t.Run("UpdateEnv", func(t *testing.T) {
		all := env(t, &proclocal.Options{
			Env: envpolicy.Policy{Set: map[string]string{"SET": "by policy"}},
			UpdateEnv: func(chatID string, env []string) ([]string, error) {
				require.Empty(t, chatID)
				require.Contains(t, env, "PLAIN=from the host")
				require.Contains(t, env, "SET=by policy")
				for _, kv := range env {
					require.NotContains(t, kv, "sk-secret")
				}
				return append(env, "ADDED_API_KEY=kept", "MINE=hook"), nil
			},
		}, map[string]string{"MINE": "request"})
		require.Equal(t, "kept", all["ADDED_API_KEY"], "what the hook adds is not withheld")
		require.Equal(t, "request", all["MINE"], "the request comes last")
	})
	for name, hook := range map[string]func(string, []string) ([]string, error){
		"UpdateEnv fails":  func(string, []string) ([]string, error) { return nil, errors.New("no") },
		"UpdateEnv panics": func(string, []string) ([]string, error) { panic("no") },
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, "from the host", env(t, &proclocal.Options{UpdateEnv: hook}, nil)["PLAIN"])
		})
	}
}

func TestHooks(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	note := func(what string) func(procmgr.Process) {
		return func(p procmgr.Process) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, what+" "+p.ID+" "+string(p.State))
		}
	}
	l, err := proclocal.New(&proclocal.Options{OnStart: note("start"), OnExit: note("exit")})
	require.NoError(t, err)
	for _, id := range []string{"one", "two"} {
		start(t, l, procmgr.StartRequest{ID: id, Command: "true", Wait: long})
	}
	start(t, l, procmgr.StartRequest{ID: "one", Command: "true", Wait: long})
	_, err = l.Start(t.Context(), procmgr.StartRequest{ID: "bad", Command: "true", WorkDir: "/no/such"})
	require.Error(t, err)
	require.NoError(t, l.Close(), "all hooks have been called when Close returns")
	require.ElementsMatch(t, []string{"start one running", "exit one exited", "start two running", "exit two exited"}, seen)
	require.Equal(t, "start one running", seen[0])

	t.Run("a slow OnStart holds up no end", func(t *testing.T) {
		release := make(chan struct{})
		l := newLocal(t, &proclocal.Options{OnStart: func(procmgr.Process) { <-release }})
		defer close(release)
		go func() {
			_, _ = l.Start(context.Background(), procmgr.StartRequest{ID: "x", Command: "exec sleep 1000"})
		}()
		eventually(t, "it runs", func() bool {
			out, err := l.Output(t.Context(), "x", procmgr.OutputRequest{})
			return err == nil && out.Process.State == procmgr.Running
		})
		require.NoError(t, l.Signal(t.Context(), "x", procmgr.Kill))
	})
	t.Run("panic", func(t *testing.T) {
		boom := func(procmgr.Process) { panic("boom") }
		var log bytes.Buffer
		l, err := proclocal.New(&proclocal.Options{OnStart: boom, OnExit: boom, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		require.Equal(t, "fine\n", run(t, l, "echo fine").Text)
		require.NoError(t, l.Close())
		require.Contains(t, log.String(), "hook=OnExit panic=boom")
	})
}

// Every log line names the process and its chat, and none has a secret in it.
func TestLog(t *testing.T) {
	t.Setenv("SOME_TOKEN", "hidden-value")
	var log bytes.Buffer
	l, err := proclocal.New(&proclocal.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	require.NoError(t, err)
	c := l.Chat("chat-1")
	_, err = c.Start(context.Background(), procmgr.StartRequest{ID: "p-1", Command: "echo hidden-command; sleep 1000 &", Env: map[string]string{"X": "hidden-value"}, Wait: long})
	require.NoError(t, err)
	require.NoError(t, c.Signal(t.Context(), "p-1", procmgr.Kill))
	require.NoError(t, l.Close())
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	require.GreaterOrEqual(t, len(lines), 4, log.String())
	for _, line := range lines {
		require.Contains(t, line, "process_id=p-1 chat_id=chat-1")
		require.NotContains(t, line, "hidden-")
	}
	require.Contains(t, log.String(), "SOME_TOKEN", "the name of what was withheld may be told")
}

// A host can count the work of a Local.
func TestMetrics(t *testing.T) {
	var mu sync.Mutex
	counts := make(map[string]int64)
	add := func(name string, n int64) {
		mu.Lock()
		defer mu.Unlock()
		counts[name] += n
	}
	l := newLocal(t, &proclocal.Options{MaxRunningPerChat: 1, Metrics: &proclocal.Metrics{
		Started: func() { add("started", 1) },
		Refused: func(err error) {
			add("refused", 1)
			if errors.Is(err, procmgr.ErrLimit) {
				add("limited", 1)
			}
		},
		Exited: func(cause procmgr.Cause, _ time.Duration) { add("exited: "+string(cause), 1) },
		Output: func(n int) { add("printed", int64(n)) },
	}})
	m := l.Chat("a")
	run(t, m, "sleep 0.1; echo hello")
	start(t, m, procmgr.StartRequest{ID: "x", Command: "head -c 1000 /dev/zero; echo ready; exec sleep 1000"})
	out := output(t, m, "x", procmgr.OutputRequest{Until: "ready", Wait: long, Limit: headtail.Limits{Bytes: 200}})
	start(t, m, procmgr.StartRequest{ID: "x", Command: out.Process.Command}) // it is attached, and neither started nor refused
	_, err := m.Start(t.Context(), procmgr.StartRequest{Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrLimit)
	_, err = m.Start(t.Context(), procmgr.StartRequest{Command: ""})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	require.NoError(t, m.Signal(t.Context(), "x", procmgr.Kill))
	require.NoError(t, l.Close())

	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, map[string]int64{
		"started": 2, "refused": 2, "limited": 1, "exited: exit": 1, "exited: request": 1,
		"printed": int64(len("hello\n") + 1000 + len("ready\n")),
	}, counts)
}

// withholding returns a Local that withholds some variables, and no others.
func withholding(t *testing.T, opts proclocal.Options, names ...string) *proclocal.Local {
	for _, name := range names {
		t.Setenv(name, "hidden")
	}
	opts.Env = envpolicy.Policy{Allow: []string{"*"}, Exclude: names}
	return newLocal(t, &opts)
}

// A variable is named if the command, or the output of a failed one, names it. Most
// failures have nothing to do with the variables that were withheld.
func TestWithheldNames(t *testing.T) {
	const mine, other, given = "MY_API_TOKEN", "OTHER_API_TOKEN", "GIVEN_API_TOKEN"
	l := withholding(t, proclocal.Options{UpdateEnv: func(_ string, env []string) ([]string, error) {
		return append(env, given+"=given"), nil
	}}, mine, other, given)
	type command struct {
		text string
		want []string
	}
	for _, tt := range []struct {
		name     string
		commands []command // of one chat
	}{
		{"nothing mentions it", []command{{"exit 3", nil}, {"ls /no/such/file", nil}, {"true", nil}}},
		{"the command mentions one", []command{{"exit 3$MY_API_TOKEN", []string{mine}}, {"exit 3", nil}}},
		{"a command that succeeds mentions one", []command{{"echo $MY_API_TOKEN", []string{mine}}, {"exit 3", nil}}},
		{"the output names one", []command{{"x=MY_API_; echo ${x}TOKEN is not set; exit 3", []string{mine}}}},
		{"both name one", []command{{"x=MY_API_; echo ${x}TOKEN; exit 3$OTHER_API_TOKEN", []string{mine, other}}, {"exit 3", nil}}},
		{"named again", []command{{"exit 3$MY_API_TOKEN", []string{mine}}, {"exit 3$MY_API_TOKEN", []string{mine}}}},
		{"the output of one that succeeds", []command{{"x=MY_API_; echo ${x}TOKEN", nil}}},
		{"another name", []command{{"exit 3$MY_API_TOKENS$xMY_API_TOKEN", nil}}},
		{"in braces", []command{{"echo ${MY_API_TOKEN:-none}; exit", []string{mine}}}},
		{"without a dollar", []command{{"printenv MY_API_TOKEN", []string{mine}}}},
		{"all of them", []command{{"env", nil}}},
		{"one that UpdateEnv gives", []command{{"echo $GIVEN_API_TOKEN", nil}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, c := range tt.commands {
				out := start(t, l.Chat(tt.name), procmgr.StartRequest{Command: c.text, Wait: long})
				require.Equal(t, procmgr.Exited, out.Process.State)
				require.Equal(t, c.want, out.Withheld, c.text)
				again := output(t, l.Chat(tt.name), out.Process.ID, procmgr.OutputRequest{})
				require.Equal(t, c.want, again.Withheld, "the same process, read again")
			}
		})
	}
	t.Run("a request that gives it", func(t *testing.T) {
		out := start(t, l.Chat("given"), procmgr.StartRequest{
			Command: "exit 3$MY_API_TOKEN$OTHER_API_TOKEN", Wait: long, Env: map[string]string{mine: ""},
		})
		require.Equal(t, []string{other}, out.Withheld)
	})
	t.Run("what it leaves behind", func(t *testing.T) {
		out := start(t, l.Chat("left"), procmgr.StartRequest{Command: "sleep 1000 & x=MY_API_; echo ${x}TOKEN; exit 3", Wait: long})
		require.Equal(t, procmgr.Detached, out.Process.State)
		require.Equal(t, []string{mine}, out.Withheld)
		require.NoError(t, l.Chat("left").Signal(t.Context(), out.Process.ID, procmgr.Kill))
	})
}
