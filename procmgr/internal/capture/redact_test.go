package capture_test

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
	"github.com/toolproc/toolproc/procmgr/internal/redact"
)

const secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"

var secrets = redact.Compile([]redact.Value{{Name: "TOKEN", Value: secret}, {Name: "KEY", Value: "k3y5w0rd"}})

// What is held back of a line that is drawn again is masked.
func TestRedactLive(t *testing.T) {
	s := newStream(capture.Options{Head: 4096})
	s.Redact(secrets)
	s.Add([]byte(" 10%\r " + secret + " 20%"))
	require.Equal(t, " 10%\n [withheld: TOKEN] 20%", s.Read(0, noLimit, nil).Text)
	s.End()
}

// The beginning of a value that is only the end of a prompt is held back for 20 ms.
func TestRedactLetsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStream(capture.Options{Head: 4096, Tail: 4096, Raw: true})
		s.Redact(secrets)
		text := func() string { return s.Read(0, headtail.Limits{Bytes: 4096}, nil).Text }
		prompt, err := capture.NewMatcher("k3y$")
		require.NoError(t, err)
		require.NoError(t, s.Watch(t.Context(), prompt, 0))
		s.Add([]byte("your k3y"))
		require.Equal(t, "your ", text())
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, "your k3y", text())
		require.True(t, matched(prompt))
		s.Add([]byte("5w0rd."))
		require.Equal(t, "your k3y[withheld: KEY].", text())
		s.Add([]byte(secret[:8]))
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, "your k3y[withheld: KEY].", text())
		s.End()
		require.Equal(t, "your k3y[withheld: KEY]."+secret[:8], text())
	})
}

// A stream that waits holds no room for masking, however much came at once.
func TestRedactHoldsNoRoom(t *testing.T) {
	const streams, size = 200, 256 << 10
	text := []byte(strings.Repeat("a "+secret+" b\n", size/len(secret)) + secret[:9])
	heap := func() int64 {
		runtime.GC()
		runtime.GC() // what is lent out of a pool lives for one collection
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	var all []*capture.Stream
	for range streams {
		s := newStream(capture.Options{Head: 10, Tail: 10, Raw: true})
		s.Redact(secrets)
		s.Add(text[:len(text)/2])
		s.Add(text[len(text)/2:])
		all = append(all, s)
	}
	require.Less(t, heap()-before, int64(streams*size/8))
	for _, s := range all {
		require.Equal(t, []string{"TOKEN"}, s.Redacted())
	}
}
