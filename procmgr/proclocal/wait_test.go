package proclocal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// talker is a process that prints the text that it gets.
type talker struct {
	id string
	to *os.File
}

func startTalker(t *testing.T, m procmgr.Manager) *talker {
	t.Helper()
	needs(t, "FIFOs")
	fifo := filepath.Join(t.TempDir(), "in")
	out := begin(t, m, "mkfifo "+fifo+"; echo ready; cat "+fifo)
	f, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return &talker{out.Process.ID, f}
}

func (k *talker) say(t *testing.T, text string) {
	t.Helper()
	_, err := k.to.WriteString(text)
	require.NoError(t, err)
}

// A match is not missed if its text falls out of the window between two looks.
func TestUntilSeesWhatIsDropped(t *testing.T) {
	l := newLocal(t, &proclocal.Options{Head: 100, Tail: 100})
	k := startTalker(t, l)
	done := make(chan procmgr.Output)
	go func() {
		out, err := l.Output(t.Context(), k.id, procmgr.OutputRequest{From: 6, Until: "^needle$", Wait: long})
		assert.NoError(t, err)
		done <- out
	}()
	hay := strings.Repeat("hay\n", 5000)
	for range 20 {
		k.say(t, hay)
	}
	k.say(t, "nee")
	k.say(t, "dle\n"+hay)
	require.True(t, (<-done).Matched)
}

func TestUntilEndsWithTheProcess(t *testing.T) {
	l := newLocal(t, nil)
	k := startTalker(t, l)
	done := make(chan procmgr.Output)
	go func() {
		out, err := l.Output(t.Context(), k.id, procmgr.OutputRequest{Until: "never", Wait: long})
		assert.NoError(t, err)
		done <- out
	}()
	k.say(t, "last words")
	require.NoError(t, k.to.Close())
	out := <-done
	require.False(t, out.Matched)
	require.Equal(t, procmgr.Exited, out.Process.State)
	require.Equal(t, "ready\nlast words", out.Text)
}

// Pages join without overlap or loss, at every moment of the read.
func TestOutputPages(t *testing.T) {
	l := newLocal(t, &proclocal.Options{Head: 1 << 20, Tail: 1 << 20})
	out, err := l.Start(t.Context(), procmgr.StartRequest{
		Command: `i=0; while [ $i -lt 2000 ]; do printf 'zeile %d \303\244\342\202\254\n' $i; i=$((i+1)); done`,
	})
	require.NoError(t, err)
	text, next := "", int64(0) // Start's own page may be cut
	for {
		out, err = l.Output(t.Context(), out.Process.ID, procmgr.OutputRequest{From: next, Until: ".", Wait: long, Limit: headtail.Limits{Bytes: -1}})
		require.NoError(t, err)
		require.Nil(t, out.Truncated)
		text += out.Text
		next = out.Next
		if out.Process.State == procmgr.Exited {
			break
		}
	}
	var want strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&want, "zeile %d ä€\n", i)
	}
	require.Equal(t, want.String(), text)
	require.Equal(t, int64(want.Len()), next)
}

func TestOutputFrom(t *testing.T) {
	l := newLocal(t, nil)
	id := run(t, l, "printf 0123456789").Process.ID
	for from, want := range map[int64]string{-5: "0123456789", 0: "0123456789", 7: "789", 10: "", 99: ""} {
		out, err := l.Output(t.Context(), id, procmgr.OutputRequest{From: from})
		require.NoError(t, err)
		require.Equal(t, want, out.Text)
		require.Equal(t, int64(10), out.Next)
	}
	out, err := l.Output(t.Context(), id, procmgr.OutputRequest{Limit: headtail.Limits{Bytes: 4}})
	require.NoError(t, err)
	require.Equal(t, "6789", out.Text)
	require.Equal(t, int64(6), out.Truncated.OmittedBytes)
}

// A wait ends at the change from running to detached, and from there to exited.
func TestWaitEndsAtEachChange(t *testing.T) {
	needs(t, "FIFOs")
	l := newLocal(t, nil)
	fifo := filepath.Join(t.TempDir(), "go")
	out, err := l.Start(t.Context(), procmgr.StartRequest{Command: "mkfifo " + fifo + "; cat " + fifo + " & echo left", Wait: long})
	require.NoError(t, err)
	require.Equal(t, procmgr.Detached, out.Process.State)
	done := make(chan procmgr.Output)
	go func() {
		out, err := l.Output(t.Context(), out.Process.ID, procmgr.OutputRequest{Wait: long})
		assert.NoError(t, err)
		done <- out
	}()
	require.NoError(t, os.WriteFile(fifo, []byte("later\n"), 0o600))
	out = <-done
	require.Equal(t, procmgr.Exited, out.Process.State)
	require.Equal(t, "left\nlater\n", out.Text, "what it prints later is still collected")
}

// Half a rune is no output yet: it cannot be read, so nobody is woken for it.
func TestUntilAnyOutputIsReadable(t *testing.T) {
	l := newLocal(t, nil)
	k := startTalker(t, l)
	k.say(t, "a\xc3")
	out, err := l.Output(t.Context(), k.id, procmgr.OutputRequest{From: 6, Until: ".", Wait: long})
	require.NoError(t, err)
	require.True(t, out.Matched)
	require.Equal(t, "a", out.Text)
	out, err = l.Output(t.Context(), k.id, procmgr.OutputRequest{From: out.Next, Until: ".", Wait: 20 * time.Millisecond})
	require.NoError(t, err)
	require.False(t, out.Matched)
	k.say(t, "\xa4")
	out, err = l.Output(t.Context(), k.id, procmgr.OutputRequest{From: out.Next, Until: ".", Wait: long})
	require.NoError(t, err)
	require.True(t, out.Matched)
	require.Equal(t, "ä", out.Text)
}

// An offset beyond the end is the end at the time of the request: output after
// that is new.
func TestOutputFromBeyondTheEnd(t *testing.T) {
	l := newLocal(t, nil)
	id := begin(t, l, "echo ready; while sleep 0.02; do echo more; done").Process.ID
	for _, until := range []string{".", "^more$"} {
		before, err := l.Output(t.Context(), id, procmgr.OutputRequest{})
		require.NoError(t, err)
		out, err := l.Output(t.Context(), id, procmgr.OutputRequest{From: 1 << 40, Until: until, Wait: long})
		require.NoError(t, err)
		require.True(t, out.Matched)
		require.Regexp(t, `^(more\n)+$`, out.Text)
		require.GreaterOrEqual(t, out.Next-int64(len(out.Text)), before.Next)
	}
	require.NoError(t, l.Signal(t.Context(), id, procmgr.Kill))
}
