//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
)

// These are the jobs of roleWork.
const (
	jobs     = 20
	signaled = 4 // each job of this number ends by a signal alone
	written  = 2 // and what is left over by this one waits for a line of input
)

// job returns a job of a group: it leaves a line in a file.
func job(group string, i int, effects string) procmgr.StartRequest {
	id := fmt.Sprintf("%s-%d", group, i)
	req := procmgr.StartRequest{ID: id, Command: fmt.Sprintf("echo %s >> %s; echo out-%s; ", id, effects, id)}
	switch i % signaled {
	case 0:
		req.Command += "exec sleep 1000"
	case written:
		req.Stdin = procmgr.StdinPipe
		req.Command += fmt.Sprintf("cat >> %s; ", effects)
		fallthrough
	default:
		req.Command += fmt.Sprintf("exit %d", i)
	}
	return req
}

// roleWork does all jobs of a group, and tells each job whose start has been
// answered. It may be killed at any moment and done again.
func roleWork(args []string) error {
	dir, group, effects := args[0], args[1], args[2]
	k, err := prockeep.Open(context.Background(), dir, &prockeep.Options{Idle: lifetime})
	if err != nil {
		return err
	}
	for i := range jobs {
		if err := work(k.Chat("a"), job(group, i, effects), i%signaled == 0); err != nil {
			return err
		}
	}
	return k.Close()
}

func work(m procmgr.Manager, req procmgr.StartRequest, signal bool) error {
	ctx := context.Background()
	if !signal {
		req.Wait = rand.N(2 * time.Millisecond)
	}
	if _, err := m.Start(ctx, req); err != nil {
		return err
	}
	fmt.Println(req.ID)
	out, err := m.Output(ctx, req.ID, procmgr.OutputRequest{Until: "^out-", Wait: long})
	if err != nil {
		return err
	}
	if signal {
		if err := m.Signal(ctx, req.ID, procmgr.Kill); err != nil && !errors.Is(err, procmgr.ErrNotRunning) {
			return err
		}
	}
	if req.Stdin == procmgr.StdinPipe {
		_, err := m.Input(ctx, req.ID, procmgr.InputRequest{Key: "line", Data: []byte("in-" + req.ID + "\n"), Close: true})
		if err != nil && !errors.Is(err, procmgr.ErrNotRunning) {
			return err
		}
	}
	for out.Process.State != procmgr.Exited {
		if out, err = m.Output(ctx, req.ID, procmgr.OutputRequest{Wait: long}); err != nil {
			return err
		}
	}
	return nil
}

// A program is killed at random moments of start, wait, output, input and signal, and
// done again. Every ID is accounted for, and every side effect has happened
// once.
func TestHeldKilledAtRandom(t *testing.T) {
	testenv.Held(t)
	groups, kills := testenv.Rounds(5, 40), 5
	dir := newDir(t)
	effects := filepath.Join(t.TempDir(), "effects")
	k := open(t, dir, nil)
	chat := k.Chat("a")

	began := time.Now()
	require.NoError(t, program(t, "work", dir, "whole", effects).Run())
	whole := time.Since(began)

	killed := 0
	for group := range groups {
		name := fmt.Sprintf("g%d", group)
		for range kills {
			cmd := program(t, "work", dir, name, effects)
			var told bytes.Buffer
			cmd.Stdout = &told
			require.NoError(t, cmd.Start())
			time.Sleep(rand.N(whole / 2)) // a job that has been done takes less time
			_ = cmd.Process.Kill()        // it may have ended
			if cmd.Wait() != nil {
				killed++
			}
			for id := range strings.Lines(told.String()) {
				_, err := chat.Output(t.Context(), strings.TrimSpace(id), procmgr.OutputRequest{})
				require.NoError(t, err)
			}
		}
		require.NoError(t, program(t, "work", dir, name, effects).Run())
		for i := range jobs {
			out, err := chat.Output(t.Context(), fmt.Sprintf("%s-%d", name, i), procmgr.OutputRequest{})
			require.NoError(t, err)
			require.Equal(t, procmgr.Exited, out.Process.State)
			require.Equal(t, "out-"+out.Process.ID+"\n", out.Text)
			if i%signaled == 0 {
				require.Equal(t, procmgr.CauseRequest, out.Process.EndedBy)
			} else {
				require.Equal(t, i, *out.Process.ExitCode)
			}
		}
	}
	t.Logf("killed %d of %d programs, each within %v", killed, groups*kills, whole)
	require.Positive(t, killed)

	page, err := chat.List(t.Context(), procmgr.ListRequest{})
	all := page.Processes
	require.NoError(t, err)
	require.Len(t, all, (groups+1)*jobs)
	data, err := os.ReadFile(effects)
	require.NoError(t, err)
	times := make(map[string]int)
	for id := range strings.Lines(string(data)) {
		times[id]++
	}
	require.Len(t, times, (groups+1)*(jobs+jobs/signaled), "what ran, and what was written")
	for id, n := range times {
		require.Equal(t, 1, n, id)
	}
}
