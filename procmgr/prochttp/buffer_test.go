package prochttp_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// Bodies are read and written in buffers that are used again. Each of many
// callers still gets its own answer, and the host its own request, while others
// give up in the midst of theirs.
func TestEveryCallerGetsItsOwn(t *testing.T) {
	t.Parallel()
	script := proctest.NewScript()
	t.Cleanup(func() { require.NoError(t, script.Close()) })
	script.On("*", func(c *proctest.Command) int {
		fmt.Fprint(c, c.Process().ChatID, c.Request.Command)
		return 0
	})
	overHTTP1 := newClient(t, serve(t, newHandler(t, script, nil)), &prochttp.ClientOptions{Token: token, Retry: patience})
	host := overTLS(t, overHTTP1) // with HTTP/2
	var wg sync.WaitGroup
	for caller := range 16 {
		wg.Go(func() {
			m := host.Chat(fmt.Sprint(caller))
			random := rand.New(rand.NewPCG(1, uint64(caller)))
			for n := range 15 {
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				hasty := random.IntN(3) == 0
				if hasty {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(random.IntN(3000))*time.Microsecond)
				}
				command := strings.Repeat(fmt.Sprintf("%d.%d\n", caller, n), 1+random.IntN(8000))
				out, err := m.Start(ctx, procmgr.StartRequest{Command: command, Wait: time.Minute, Limit: headtail.Limits{Bytes: -1, Line: -1}})
				cancel()
				if hasty && err != nil {
					continue
				}
				assert.NoError(t, err)
				assert.True(t, out.Text == fmt.Sprint(caller)+command && out.Process.Command == command)
			}
		})
	}
	wg.Wait()
}
