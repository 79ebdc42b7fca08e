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

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/envpolicy"
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
			UpdateEnv: func(env []string) ([]string, error) {
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
	for name, hook := range map[string]func([]string) ([]string, error){
		"UpdateEnv fails":  func([]string) ([]string, error) { return nil, errors.New("no") },
		"UpdateEnv panics": func([]string) ([]string, error) { panic("no") },
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
