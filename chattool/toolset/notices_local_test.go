//go:build unix

package toolset_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
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
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// patience is a wait that ends earlier, unless something is wrong.
const patience = time.Minute

// managers returns a manager of one chat for each way to a host.
func managers(t *testing.T) map[string]procmgr.Manager {
	t.Helper()
	l := newHost(t, nil)
	handler, err := prochttp.NewHandler(l, &prochttp.HandlerOptions{Token: "t"})
	require.NoError(t, err)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := prochttp.NewClient(server.URL, &prochttp.ClientOptions{Token: "t"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return map[string]procmgr.Manager{"local": l.Chat("a"), "http": client.Chat("b")}
}

// onlyList is a manager without events.
type onlyList struct{ procmgr.Manager }

func (onlyList) Events(context.Context, procmgr.EventsRequest) (procmgr.EventPage, error) {
	return procmgr.EventPage{}, errors.ErrUnsupported
}

// An Inbox wakes a host as soon as something has happened.
func TestInboxWait(t *testing.T) {
	t.Parallel()
	for name, m := range managers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			set := newSet(toolset.Static(m), inboxOptions())
			inbox := set.Inbox(ctx, "")
			woken := make(chan error, 1)
			go func() { woken <- inbox.Wait(ctx) }() // the test waits for it below
			file := filepath.Join(t.TempDir(), "go")
			id := say(t, set, "execute", arguments(t, "run_in_background", true,
				"command", "until [ -e "+file+" ]; do sleep 0.01; done; echo one; echo 3 failing; exit 1")).Report.ProcessID
			require.NotEmpty(t, id)
			require.NoError(t, os.WriteFile(file, nil, 0o600))
			require.NoError(t, <-woken)
			n, err := inbox.Pending(ctx)
			require.NoError(t, err)
			require.Regexp(t, `(?m)^- `+id+` \("until .*"\) exited with code 1 after \S+; last line: "3 failing"$`, n.Text)
			require.Contains(t, n.Text, "not from the user")
			require.Len(t, n.Processes, 1)
			require.Equal(t, 1, *n.Processes[0].ExitCode)

			require.NoError(t, inbox.Wait(ctx), "until it is acknowledged")
			again, err := inbox.Pending(ctx)
			require.NoError(t, err)
			require.Equal(t, n, again)
			inbox.Ack(n)
			n, err = inbox.Pending(ctx)
			require.NoError(t, err)
			require.Empty(t, n)

			short, stop := context.WithCancel(ctx)
			stop()
			require.ErrorIs(t, inbox.Wait(short), context.Canceled)
		})
	}
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

// A process that matches without end is told once, and then its end.
func TestNotifyOnFlood(t *testing.T) {
	t.Parallel()
	for name, m := range managers(t) {
		for _, mode := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, mode %v", name, mode), func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				set := newSet(toolset.Static(m), &toolset.Options{NoticesInInbox: mode})
				inbox := set.Inbox(ctx, "")
				// 10,000 lines at a time, for as long as it may run.
				id := say(t, set, "execute", `{"command":"echo begins; i=0; while [ $i -lt 2000 ]; do seq -f 'error %.0f' 10000; i=$((i+1)); sleep 0.5; done","run_in_background":true,"notify_on":"error 9"}`).Report.ProcessID
				require.NotEmpty(t, id)
				var told []string
				look := func() {
					t.Helper()
					told = append(told, say(t, set, "execute", `{"command":"true"}`).Report.Meanwhile...)
					n, err := inbox.Pending(ctx)
					require.NoError(t, err)
					for line := range strings.Lines(n.Text) {
						if about, ok := strings.CutPrefix(line, "- "); ok {
							told = append(told, strings.TrimSuffix(about, "\n"))
						}
					}
					require.Less(t, len(n.Text), 1000)
					inbox.Ack(n)
				}
				// wait waits for an Inbox, or looks until there is something to tell.
				wait := func(most int) {
					t.Helper()
					if mode {
						require.NoError(t, inbox.Wait(ctx))
						return
					}
					for len(told) < most {
						look()
						require.NoError(t, ctx.Err())
					}
				}
				wait(1)
				for range 10 {
					look()
				}
				require.Len(t, told, 1)
				require.Contains(t, told[0], `printed a line that matches notify_on: "error 9"`)
				require.NoError(t, m.Signal(ctx, id, procmgr.Kill))
				wait(2)
				for range 3 {
					look()
				}
				require.Len(t, told, 2)
				require.Contains(t, told[1], "ended on request (exit code 137)")
				// The kill may have come in the middle of a line.
				require.Regexp(t, `; last line: "e[ro]* ?\d*"$`, told[1])
			})
		}
	}
}

// A notify_on whose match would not be told is refused.
func TestNotifyOnRefused(t *testing.T) {
	t.Parallel()
	l := newHost(t, nil)
	for _, tt := range []struct {
		name string
		m    procmgr.Manager
		opts *toolset.Options
		on   string
		want string
	}{
		{"no events", onlyList{l.Chat("a")}, nil, "x", "nothing was started: the process manager cannot watch for notify_on. Leave notify_on out, and wait with the wait_for of process_output"},
		{"slashes", l.Chat("a"), nil, "/x/i", `the argument \"notify_on\": \"/x/i\" has the slashes`},
		{"no pattern", l.Chat("a"), nil, "(", "nothing was started: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set := newSet(toolset.Static(tt.m), tt.opts)
			res := say(t, set, "execute", arguments(t, "command", "true", "run_in_background", true, "notify_on", tt.on))
			require.True(t, res.IsError)
			require.Contains(t, res.Content, tt.want)
			page, err := l.List(t.Context(), procmgr.ListRequest{})
			list := page.Processes
			require.NoError(t, err)
			require.Empty(t, list)
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
