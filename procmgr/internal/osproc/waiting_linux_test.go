package osproc_test

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// A slow Sink blocks in Add until it is let go.
type slow struct {
	*command
	adds, letGo chan struct{}
}

func (s *slow) Add(p []byte) {
	select {
	case s.adds <- struct{}{}:
	default:
	}
	<-s.letGo
	s.command.Add(p)
}

// A program that has printed and waits is not said to wait before all that it has printed
// has reached the Sink.
func TestWaitsBehindItsOutput(t *testing.T) {
	for name, kind := range map[string]osproc.Stdin{"pipe": osproc.StdinPipe, "terminal": osproc.StdinTerminal} {
		t.Run(name, func(t *testing.T) {
			s := open(t, osproc.Config{})
			c := &command{system: s, dir: t.TempDir(), gone: make(chan struct{})}
			sink := &slow{c, make(chan struct{}, 1), make(chan struct{})}
			var err error
			c.Tree, err = s.Start(osproc.Command{Argv: []string{"sh", "-c", "echo one; while [ ! -e go ]; do sleep 0.01; done; echo two; read -r x"}, Dir: c.dir, Env: os.Environ(), Output: sink, Stdin: kind})
			require.NoError(t, err)
			go func() { // the cleanup waits for it
				defer close(c.gone)
				c.end, _ = c.Follow(func(osproc.Exit) {})
				c.Release()
			}()
			letGo := sync.OnceFunc(func() { close(sink.letGo) })
			t.Cleanup(func() { letGo(); c.kill(t) })
			<-sink.adds
			require.NoError(t, os.WriteFile(c.dir+"/go", nil, 0o600))
			for range 30 { // it waits meanwhile
				_, waits := c.Waiting()
				require.False(t, waits)
				time.Sleep(10 * time.Millisecond)
			}
			letGo()
			require.Eventually(t, func() bool { _, waits := c.Waiting(); return waits }, long, time.Millisecond)
			require.True(t, strings.HasPrefix(strings.ReplaceAll(c.output(), "\r", ""), "one\ntwo\n"), c.output())
		})
	}
}
