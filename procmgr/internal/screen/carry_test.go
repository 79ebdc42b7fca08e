//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package screen_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/screen"
)

// A screen that is saved and goes on elsewhere, at any place of the output, shows
// in the end what it would have shown.
func TestSave(t *testing.T) {
	for _, out := range []string{
		"one\r\ntwo  ",
		"\x1b[2;3Hx\x1b[3b",
		"abc\x1b[2Jd\r\ne",
		"shell$ \x1b[?1049h\x1b[?1h\x1b[2;2Hedit\x1b[?2004hor\x1b[?2004l\x1b[?1l\x1b[?1049l ls\r\n",
		"\u20ac\u00e9x\xff\xe2\x82",
		"12345678901234567890",
		"\x1b[6nx\x1b[c",
		"a\n\n\n\n\nb",
	} {
		plain := screen.New(20, 4)
		reply := string(plain.Write([]byte(out)))
		for at := range len(out) + 1 {
			s := screen.New(20, 4)
			answers := string(s.Write([]byte(out[:at])))
			data, err := json.Marshal(s.Save())
			require.NoError(t, err)
			var saved screen.State
			require.NoError(t, json.Unmarshal(data, &saved))
			next := screen.Resume(saved)
			require.Equal(t, s.View(), next.View(), "%q|%q", out[:at], out[at:])
			answers += string(next.Write([]byte(out[at:])))
			require.Equal(t, plain.View(), next.View(), "%q|%q", out[:at], out[at:])
			require.Equal(t, plain.Modes(), next.Modes())
			require.Equal(t, reply, answers)
		}
	}
}

// A screen whose emulator has panicked stays as it was.
func TestSaveStale(t *testing.T) {
	s := screen.New(20, 4)
	s.Write([]byte("ab"))
	screen.Break(s)
	s.Write([]byte("c"))
	next := screen.Resume(s.Save())
	next.Write([]byte("d"))
	require.Equal(t, s.View(), next.View())
	require.True(t, next.View().Stale)
}
