package proclocal_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A chat has the environment, the directory and the limit that PerChat names, and what
// its policy withholds is masked in its output. Other chats have none of it.
func TestPerChat(t *testing.T) {
	const mine, others = "zwrHqMpkTgUzcVwdPfLs8x2n", "q7Rk2mXw9Vt4Lp8Zs3Hd6Jf1"
	own, a := t.TempDir(), t.TempDir()
	t.Setenv("HOST_TOKEN", others)
	t.Setenv("PLAIN", "plain")
	var calls atomic.Int64
	l := newLocal(t, &proclocal.Options{WorkDir: own, MaxRunningPerChat: 2, PerChat: func(_ context.Context, chatID string) (*proclocal.ChatOptions, error) {
		calls.Add(1)
		switch chatID {
		case "a":
			return &proclocal.ChatOptions{
				Env:     &envpolicy.Policy{IncludeOnly: []string{"PATH", "HOST_TOKEN", "PLAIN"}, Exclude: []string{"PLAIN"}, Set: map[string]string{"A_TOKEN": mine}},
				WorkDir: a, MaxRunning: 3,
			}, nil
		case "suspended":
			return nil, errors.New("this account is suspended; tell the user")
		case "panics":
			panic("no")
		}
		return nil, nil
	}, UpdateEnv: func(chatID string, env []string) ([]string, error) { return append(env, "CHAT="+chatID), nil }})

	command := fmt.Sprintf("echo $CHAT ${PLAIN-none} ${A_TOKEN:+set}${HOST_TOKEN:+set} %s %s; pwd -P", mine, others)
	for chat, want := range map[string]string{
		"a": "a none set [withheld: A_TOKEN] [withheld: HOST_TOKEN]\n" + a,
		"b": "b plain " + mine + " [withheld: HOST_TOKEN]\n" + own,
	} {
		out := run(t, l.Chat(chat), command)
		require.Equal(t, want+"\n", out.Text)
		require.True(t, start(t, l.Chat(chat), procmgr.StartRequest{ID: out.Process.ID, Command: command}).Attached)
	}
	require.EqualValues(t, 2, calls.Load(), "once for each start, and not if it only attaches")
	require.Equal(t, filepath.Dir(a), start(t, l.Chat("a"), procmgr.StartRequest{Command: "true", WorkDir: "..", Wait: long}).Process.WorkDir)

	for chat, says := range map[string]string{"suspended": "this account is suspended; tell the user", "panics": "the host's PerChat failed"} {
		out, err := l.Chat(chat).Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "true"})
		require.Equal(t, says, procmgr.Reason(err))
		require.Empty(t, out.Process.ID)
		_, err = l.Chat(chat).Output(t.Context(), "x", procmgr.OutputRequest{})
		require.ErrorIs(t, err, procmgr.ErrNotFound)
	}

	// Of several starts at once, as many run as the chat may have.
	for chat, most := range map[string]int{"a": 3, "b": 2} {
		var starts sync.WaitGroup
		var limited atomic.Int64
		for range 5 {
			starts.Go(func() {
				if _, err := l.Chat(chat).Start(t.Context(), procmgr.StartRequest{Command: "exec sleep 1000"}); errors.Is(err, procmgr.ErrLimit) {
					limited.Add(1)
				}
			})
		}
		starts.Wait()
		require.EqualValues(t, 5-most, limited.Load(), chat)
		_, err := l.Chat(chat).Start(t.Context(), procmgr.StartRequest{Command: "true"})
		require.True(t, strings.HasPrefix(procmgr.Reason(err), fmt.Sprintf("%d processes run in this chat, and its limit is %[1]d; end one", most)), "%v", err)
	}
}
