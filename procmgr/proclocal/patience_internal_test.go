package proclocal

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Whoever kills gives up after 5 s, but not before it has looked 20 times, and
// after 10 s in any case.
func TestPatience(t *testing.T) {
	for name, c := range map[string]struct{ pause, want time.Duration }{
		"with a processor":    {pause: 10 * time.Millisecond, want: 5*time.Second + 10*time.Millisecond},
		"with hardly any":     {pause: 400 * time.Millisecond, want: 8 * time.Second},
		"with next to none":   {pause: 3 * time.Second, want: 12 * time.Second},
		"stopped for a while": {pause: time.Minute, want: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := patience{began: time.Now()}
				for time.Sleep(c.pause); !p.over(); {
					time.Sleep(c.pause)
				}
				require.Equal(t, c.want, time.Since(p.began))
			})
		})
	}
}
