package prockeep_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
)

// An upgrade keeps everything: what runs, what has ended, output, exit codes, IDs,
// events, input, and the handles of programs that are open.
func TestUpgrade(t *testing.T) {
	dir := newDir(t)
	k, other := open(t, dir, nil), open(t, dir, nil)
	pid := keeperPID(t, k)
	ctx := t.Context()
	begin(t, k.Chat("a"), "lives", "echo ready; read line; echo got $line; exit 7")
	_, err := k.Chat("a").Start(ctx, procmgr.StartRequest{ID: "input", Command: "echo ready; read line; echo got $line; exit 7", Stdin: procmgr.StdinPipe})
	require.NoError(t, err)
	_, err = k.Chat("a").Start(ctx, procmgr.StartRequest{ID: "ended", Command: "echo out; exit 3", Wait: long})
	require.NoError(t, err)
	before, err := k.Events(ctx, procmgr.EventsRequest{})
	require.NoError(t, err)
	waited := make(chan procmgr.Output, 1)
	go func() {
		out, _ := other.Start(ctx, procmgr.StartRequest{ID: "waits", Command: "sleep 0.5; echo slept; exit 5", Wait: long})
		waited <- out
	}()
	require.Eventually(t, func() bool { _, err := k.Output(ctx, "waits", procmgr.OutputRequest{}); return err == nil }, long, time.Millisecond)

	for range 3 {
		require.NoError(t, k.Upgrade(ctx))
	}

	now := keeperPID(t, k)
	require.NotEqual(t, pid, now)
	out, err := k.Chat("a").Output(ctx, "ended", procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, "out\n", out.Text)
	require.Equal(t, 3, *out.Process.ExitCode)
	again, err := k.Chat("a").Start(ctx, procmgr.StartRequest{ID: "ended", Command: "echo out; exit 3"})
	require.NoError(t, err)
	require.True(t, again.Attached)
	after, err := k.Events(ctx, procmgr.EventsRequest{After: before.Next})
	require.NoError(t, err)
	require.False(t, after.Gap)
	in, err := k.Chat("a").Input(ctx, "input", procmgr.InputRequest{Data: []byte("hello\n"), Wait: long, Until: "^got"})
	require.NoError(t, err)
	require.Contains(t, in.Text, "got hello")
	slept := <-waited
	require.Equal(t, "slept\n", slept.Text)
	require.Equal(t, 5, *slept.Process.ExitCode)
	require.NoError(t, k.Stop(context.Background()))
	require.Eventually(t, func() bool { return !alive(now) }, long, time.Millisecond)
}

// After the death of a keeper, the next one knows every ID, and has the output and
// the exit codes that come later.
func TestKeeperIsKilled(t *testing.T) {
	dir := newDir(t)
	k, other := open(t, dir, nil), open(t, dir, nil)
	pid := keeperPID(t, k)
	ctx := t.Context()
	_, err := k.Chat("a").Start(ctx, procmgr.StartRequest{ID: "ended", Command: "echo out; exit 3", Wait: long})
	require.NoError(t, err)
	_, err = k.Chat("a").Start(ctx, procmgr.StartRequest{ID: "later", Command: "echo ready; read line; echo got $line; exit 7", Stdin: procmgr.StdinPipe})
	require.NoError(t, err)
	begin(t, k.Chat("a"), "lives", "echo ready; exec sleep 1000")
	begin(t, k.Chat("a"), "ends", "echo ready; sleep 0.05; echo gone; exit 9")

	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))

	for _, h := range []procmgr.Host{k, other} {
		out, err := h.Chat("a").Output(ctx, "ended", procmgr.OutputRequest{})
		require.NoError(t, err)
		require.Equal(t, 3, *out.Process.ExitCode)
		require.Equal(t, procmgr.CauseExit, out.Process.EndedBy)
		out, err = h.Chat("a").Start(ctx, procmgr.StartRequest{ID: "ended", Command: "echo out; exit 3"})
		require.NoError(t, err)
		require.True(t, out.Attached)
		out, err = h.Chat("a").Output(ctx, "lives", procmgr.OutputRequest{})
		require.NoError(t, err)
		require.Equal(t, procmgr.Running, out.Process.State)
	}
	out, err := k.Chat("a").Output(ctx, "ends", procmgr.OutputRequest{Wait: long})
	require.NoError(t, err)
	require.Equal(t, 9, *out.Process.ExitCode)
	require.True(t, strings.HasSuffix(out.Text, "gone\n"), out.Text)
	in, err := k.Chat("a").Input(ctx, "later", procmgr.InputRequest{Data: []byte("hello\n"), Wait: long, Until: "^got"})
	require.NoError(t, err)
	require.Contains(t, in.Text, "got hello")
	out, err = k.Chat("a").Output(ctx, "later", procmgr.OutputRequest{Wait: long})
	require.NoError(t, err)
	require.Equal(t, 7, *out.Process.ExitCode)
	require.NotEqual(t, pid, keeperPID(t, k))
}

// A stop that meets an upgrade ends the processes, whichever program goes on.
func TestStopDuringAnUpgrade(t *testing.T) {
	const rounds = 12
	for i := range rounds {
		dir := newDir(t)
		k, other := open(t, dir, nil), open(t, dir, nil)
		pid := begin(t, k, "x", "echo ready; exec sleep 1000").Process.PID
		upgraded := make(chan error, 1)
		go func() { upgraded <- k.Upgrade(t.Context()) }()
		time.Sleep(time.Duration(i) * time.Millisecond)
		require.NoError(t, other.Stop(context.Background()))
		require.False(t, alive(pid), i)
		t.Log("upgrade:", <-upgraded) // it may have been refused
	}
}

// A Stop does not wait for a new program that hangs, and what other programs start
// meanwhile runs in the next keeper.
func TestStopDuringAnUpgradeThatHangs(t *testing.T) {
	dir := newDir(t)
	k, other := open(t, dir, nil), open(t, dir, nil)
	pid := keeperPID(t, k)
	holder := parentOf(t, pid)
	upgrading, err := prockeep.Open(t.Context(), dir, &prockeep.Options{Path: copyOfItself(t, hangs)})
	require.NoError(t, err)
	defer func() { require.NoError(t, upgrading.Close()) }()
	upgraded, stopped := make(chan error, 1), make(chan error, 1)
	go func() { upgraded <- upgrading.Upgrade(context.Background()) }()
	require.Eventually(t, func() bool { return len(childrenOf(t, holder, pid)) > 0 }, long, time.Millisecond)
	go func() { stopped <- k.Stop(context.Background()) }()
	for now := pid; now == pid; {
		out, err := other.Start(t.Context(), procmgr.StartRequest{Command: "echo $PPID", Wait: long})
		require.NoError(t, err)
		if parent, err := strconv.Atoi(strings.TrimSpace(out.Text)); err == nil { // or the keeper has ended it first
			now = parent
		}
	}
	require.NoError(t, <-stopped)
	require.ErrorContains(t, <-upgraded, "the keeper is about to end")
}

// A hangup that does not end the keeper still ends a command.
func TestHangup(t *testing.T) {
	k := open(t, newDir(t), nil)
	for range 2 {
		out := run(t, k, "kill -HUP $$; echo survived")
		require.Equal(t, "SIGHUP", out.Process.Signal, out.Text)
		require.NoError(t, k.Upgrade(t.Context()))
	}
}

// After the death of a keeper, an offset of before still says where to read on: what
// was printed meanwhile is there, and what is gone is counted.
func TestOffsetsAfterADeath(t *testing.T) {
	dir := newDir(t)
	k := open(t, dir, nil)
	ctx := t.Context()
	_, err := k.Start(ctx, procmgr.StartRequest{
		ID: "x", Command: `echo ready; printf 'some \033[1mbold\033[0m text'; read a; echo " and $a"; read b; echo "$b"`, Stdin: procmgr.StdinPipe,
	})
	require.NoError(t, err)
	out, err := k.Output(ctx, "x", procmgr.OutputRequest{Wait: long, Until: "text"})
	require.NoError(t, err)
	before := out.Next
	require.EqualValues(t, len("ready\nsome bold text"), before)
	for _, line := range []string{"more", "last"} {
		require.NoError(t, syscall.Kill(keeperPID(t, k), syscall.SIGKILL))
		out, err = k.Output(ctx, "x", procmgr.OutputRequest{})
		require.NoError(t, err)
		require.Equal(t, before, out.Next)
		require.Equal(t, before, out.Truncated.OmittedBytes)
		_, err := k.Input(ctx, "x", procmgr.InputRequest{Data: []byte(line + "\n"), Wait: long})
		require.NoError(t, err)
		out, err = k.Output(ctx, "x", procmgr.OutputRequest{From: before, Wait: long, Until: line})
		require.NoError(t, err)
		require.True(t, out.Matched)
		require.Nil(t, out.Truncated)
		require.Equal(t, map[string]string{"more": " and more\n", "last": "last\n"}[line], out.Text)
		before = out.Next
	}
}

// What a keeper has read, and not passed on when it is killed, is gone. Offsets count
// it: a command that prints all the time has never fewer bytes than it has printed,
// and each death adds at most what one read takes.
func TestHeldLostBytesAreCounted(t *testing.T) {
	testenv.Held(t)
	const pieces, size, most = 64, 64 << 20, 256 << 10
	dir := newDir(t)
	k := open(t, dir, nil)
	ctx := t.Context()
	_, err := k.Start(ctx, procmgr.StartRequest{ID: "x", Command: fmt.Sprintf(
		"i=0; while [ $i -lt %d ]; do head -c %d /dev/zero | tr '\\0' x; i=$((i+1)); done", pieces, size/pieces)})
	require.NoError(t, err)
	var out procmgr.Output
	kills := int64(0)
	for out.Process.State != procmgr.Exited {
		pid, err := strconv.Atoi(keeperOf(dir))
		if err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
			kills++
		}
		before := out.Next
		require.Eventually(t, func() bool {
			out, err = k.Output(ctx, "x", procmgr.OutputRequest{From: before})
			require.NoError(t, err)
			return out.Next > before+size/32 || out.Process.State == procmgr.Exited
		}, long, time.Millisecond)
	}
	require.Equal(t, 0, *out.Process.ExitCode)
	t.Logf("%d kills, %d bytes more than were printed", kills, out.Next-size)
	require.Positive(t, kills)
	require.GreaterOrEqual(t, out.Next, int64(size))
	require.LessOrEqual(t, out.Next, size+kills*most)
}
