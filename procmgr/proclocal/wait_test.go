package proclocal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

// A match is not missed if its text falls out of the window between two looks. What has
// fallen out before the wait began is told as not searched.
func TestUntilSeesWhatIsDropped(t *testing.T) {
	l := newLocal(t, &proclocal.Options{Head: 100, Tail: 100})
	hay := strings.Repeat("hay\n", 5000)
	for range 1000 {
		k := startTalker(t, l)
		done := make(chan procmgr.Output)
		go func() {
			out, err := l.Output(t.Context(), k.id, procmgr.OutputRequest{From: 6, Until: "^needle$", Wait: long})
			assert.NoError(t, err)
			done <- out
		}()
		for range 20 {
			k.say(t, hay)
		}
		k.say(t, "nee")
		k.say(t, "dle\n"+hay)
		k.to.Close()
		out := <-done
		if out.Matched {
			return
		}
		require.Positive(t, out.Unsearched)
	}
	t.Fatal("no wait has begun before the needle came")
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
