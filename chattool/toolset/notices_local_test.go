//go:build unix

package toolset_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// patience is a wait that ends earlier, unless something is wrong.
const patience = time.Minute

// managers returns a manager of one chat for each way to a host.
func managers(t *testing.T) map[string]procmgr.Manager {
	t.Helper()
	l := newHost(t, &proclocal.Options{LogDir: t.TempDir()})
	return map[string]procmgr.Manager{"local": l.Chat("a"), "http": remote(t, l, nil, nil)}
}

// A program that crashes loses nothing: the next one goes on with its cursor.
func TestInboxAfterACrash(t *testing.T) {
	t.Parallel()
	for name, m := range managers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			background := func(set *toolset.Set, command string) string {
				res := say(t, set, "execute", arguments(t, "command", command, "run_in_background", true))
				require.NotEmpty(t, res.Output.Process.ID, res.Content)
				return res.Output.Process.ID
			}
			first := newSet(toolset.Static(m), inboxOptions())
			inbox := first.Inbox(ctx, "")
			before := background(first, "exec sleep 1000")
			timedOut := say(t, first, "execute", `{"command":"exec sleep 1000","timeout":"0s"}`).Report.ProcessID
			cursor := inbox.Ack(toolset.Notices{})
			since := background(first, "exec sleep 1000")
			lives := background(first, "exec sleep 1000")
			say(t, first, "execute", `{"command":"exit 7"}`)
			for _, id := range []string{before, timedOut, since} {
				require.NoError(t, m.Signal(ctx, id, procmgr.Kill))
			}

			second := newSet(toolset.Static(m), inboxOptions())
			inbox = second.Inbox(ctx, cursor)
			told := func() (ids []string) {
				n, err := inbox.Pending(ctx)
				require.NoError(t, err)
				for _, p := range n.Processes {
					ids = append(ids, p.ID)
				}
				cursor = inbox.Ack(n)
				return ids
			}
			require.NoError(t, inbox.Wait(ctx))
			require.ElementsMatch(t, []string{before, timedOut, since}, told())
			require.Empty(t, told())
			require.NoError(t, m.Signal(ctx, lives, procmgr.Kill))
			require.NoError(t, inbox.Wait(ctx))
			require.Equal(t, []string{lives}, told())

			third := newSet(toolset.Static(m), inboxOptions())
			inbox = third.Inbox(ctx, cursor)
			require.Empty(t, told(), "all was acknowledged")
		})
	}
}

// Of two calls at the same time, one tells.
func TestMeanwhileIsClaimed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	manager := newHost(t, &proclocal.Options{WorkDir: dir})
	m := manager.Chat("chat")
	set := newSet(toolset.Static(m), &toolset.Options{})
	var want, got []string
	for range 6 {
		want = append(want, say(t, set, "execute", `{"command":"until [ -e go ]; do sleep 0.01; done","run_in_background":true}`).Report.ProcessID)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	for _, id := range want {
		_, err := m.Output(t.Context(), id, procmgr.OutputRequest{Wait: time.Minute})
		require.NoError(t, err)
	}
	var mu sync.Mutex // guards got
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			for range 4 {
				for _, line := range say(t, set, "execute", `{"command":"true"}`).Report.Meanwhile {
					id, _, _ := strings.Cut(line, " ")
					mu.Lock()
					got = append(got, id)
					mu.Unlock()
				}
			}
		})
	}
	calls.Wait()
	slices.Sort(want)
	slices.Sort(got)
	require.Equal(t, want, got)
}
