package toolset_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
)

func inboxOptions() *toolset.Options {
	return &toolset.Options{NoticesInInbox: true}
}

// A cursor that cannot be read, or that is of another chat, is one that knows
// nothing.
func TestInboxGarbledCursor(t *testing.T) {
	t.Parallel()
	w := newWorld()
	chat := w.begin("chat", procmgr.StartRequest{Background: true})
	w.exit(chat, 0)
	w.exit(w.begin("chat", procmgr.StartRequest{}), 0)
	w.exit(w.begin("", procmgr.StartRequest{Background: true}), 0)
	other := newSet(toolset.Static(&view{w, "other chat"}), inboxOptions())
	inbox := other.Inbox(t.Context(), "")
	background(t, w, other, "cat secret")
	for _, cursor := range []string{"what is this", inbox.Ack(toolset.Notices{})} {
		set := newSet(toolset.Static(&view{w, "chat"}), inboxOptions())
		n, err := set.Inbox(t.Context(), cursor).Pending(t.Context())
		require.NoError(t, err)
		require.Len(t, n.Processes, 1)
		require.Equal(t, chat.ID, n.Processes[0].ID)
	}
}

// An error of the resolver or of the manager loses nothing, and neither does a cursor
// that was saved meanwhile. The next one is up to date.
func TestInboxErrors(t *testing.T) {
	t.Parallel()
	w := newWorld()
	m := &view{w, "chat"}
	var broken error
	set := newSet(func(context.Context) (procmgr.Manager, error) { return m, broken }, inboxOptions())
	inbox := set.Inbox(t.Context(), "")
	l := background(t, w, set, "x")
	w.exit(l, 0)
	broken = errors.New("the workspace is stopped")
	_, err := inbox.Pending(t.Context())
	require.ErrorIs(t, err, broken)
	require.Equal(t, "toolset: pending notices: the workspace is stopped", err.Error())
	require.ErrorIs(t, inbox.Wait(t.Context()), broken)
	cursor := inbox.Ack(toolset.Notices{})
	broken = nil
	n, err := inbox.Pending(t.Context())
	require.NoError(t, err)
	require.Contains(t, n.Text, l.ID)
	for cursor, want := range map[string]int{cursor: 1, inbox.Ack(n): 0} {
		n, err := newSet(toolset.Static(m), inboxOptions()).Inbox(t.Context(), cursor).Pending(t.Context())
		require.NoError(t, err)
		require.Len(t, n.Processes, want)
	}
}

// A manager that does not wait for events is not asked without a pause.
func TestInboxWaitPauses(t *testing.T) {
	t.Parallel()
	w := newWorld()
	set := newSet(toolset.Static(&view{w, "chat"}), inboxOptions())
	inbox := set.Inbox(t.Context(), "")
	background(t, w, set, "x")
	clear(w.asked)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, inbox.Wait(ctx), context.DeadlineExceeded)
	require.Less(t, w.asked["events"], 20)
}
