package osproc_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// systems calls f with a System for each way in which commands run on this platform.
func systems(t *testing.T, f func(t *testing.T, s *osproc.System)) {
	for _, way := range ways {
		t.Run(way, func(t *testing.T) { f(t, wayOf(t, way)) })
	}
}

func TestExit(t *testing.T) {
	systems(t, func(t *testing.T, s *osproc.System) {
		tests := []struct {
			name, script string
			code         int
			signal, text string
		}{
			{"success", "echo hello; echo world >&2", 0, "", "hello\nworld\n"},
			{"code", "echo hello; exit 3", 3, "", "hello\n"},
			{"signal", "echo hello; kill -KILL $$", 137, "SIGKILL", "hello\n"},
			{"a code like a signal's", "exit 143", 143, "", ""},
			{"stdin is empty", "cat; echo end", 0, "", "end\n"},
		}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				if strings.Contains(tt.script, "kill") {
					needs(t, "signals")
				}
				c := start(t, s, "sh", "-c", tt.script)
				end := c.wait(t)
				require.Equal(t, tt.code, *end.Code())
				require.Equal(t, tt.signal, end.SignalName())
				require.Equal(t, tt.text, c.output())
				require.False(t, end.Lost)
				require.False(t, end.OOM)
				require.Empty(t, c.detached)
				c.mu.Lock()
				defer c.mu.Unlock()
				require.True(t, c.ended, "the output ends with the tree")
			})
		}
	})
}

// At the leader's exit, Follow tells of the members that it leaves, and follows
// them to their end.
func TestLeft(t *testing.T) {
	needs(t, "FIFOs")
	systems(t, func(t *testing.T, s *osproc.System) {
		c := start(t, s, "sh", "-c", "mkfifo go; (read x <go; echo later) & exit 3")
		end := c.left(t)
		require.Equal(t, 3, *end.Code())
		require.Empty(t, c.output())
		run := start(t, s, "sh", "-c", "echo >"+c.dir+"/go")
		run.wait(t)
		require.Equal(t, end, c.wait(t))
		require.Equal(t, "later\n", c.output())
	})
}

func TestSignalEndsAll(t *testing.T) {
	needs(t, "signals")
	systems(t, func(t *testing.T, s *osproc.System) {
		for _, tt := range []struct {
			sig    osproc.Signal
			script string
		}{
			{osproc.SIGTERM, "sleep 1000 & echo ready; exec sleep 1000"},
			{osproc.SIGINT, "echo ready; exec sleep 1000"}, // a shell's background jobs ignore it
			{osproc.SIGKILL, "sleep 1000 & echo ready; exec sleep 1000"},
		} {
			t.Run(tt.sig.String(), func(t *testing.T) {
				c := begin(t, s, tt.script)
				_, err := s.Signal([]*osproc.Tree{c.Tree}, tt.sig)
				require.NoError(t, err)
				end := c.wait(t)
				require.Equal(t, tt.sig, end.Signal)
				require.Equal(t, 128+int(tt.sig), *end.Code())
			})
		}
	})
}
