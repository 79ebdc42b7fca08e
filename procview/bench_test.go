//go:build unix

package procview_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/toolproc/toolproc/internal/beside"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procview"
)

// BenchmarkCapture compares how long a process takes to print 100 MB while a page shows
// it, and while none does. The page is a reader of its stream, on this machine.
func BenchmarkCapture(b *testing.B) {
	l := newLocal(b)
	_, base := serve(b, l, &procview.Options{Token: token})
	run := func(watched bool) time.Duration {
		out, err := l.Chat("a").Start(b.Context(), procmgr.StartRequest{Command: "read go; head -c 100000000 /dev/zero | tr '\\0' '\\n'", Stdin: procmgr.StdinPipe})
		if err != nil {
			b.Fatal(err)
		}
		id := out.Process.ID
		done := make(chan struct{})
		close(done)
		if watched {
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			res := call{path: "stream?chat=a&id=" + id}.do(ctx, b, base) //nolint:bodyclose // the goroutine below closes it
			done = make(chan struct{})
			go func() { // the end of the stream, which cancel brings, ends it
				defer close(done)
				defer res.Body.Close()
				_, _ = io.Copy(io.Discard, res.Body)
			}()
			defer func() { <-done }()
			defer cancel()
		}
		began := time.Now()
		if _, err := l.Chat("a").Input(b.Context(), id, procmgr.InputRequest{Data: []byte("go\n"), Close: true}); err != nil {
			b.Fatal(err)
		}
		for out.Process.State != procmgr.Exited {
			if out, err = l.Chat("a").Output(b.Context(), id, procmgr.OutputRequest{From: 1 << 40, Wait: time.Minute}); err != nil {
				b.Fatal(err)
			}
		}
		return time.Since(began)
	}
	beside.Times(b, func() time.Duration { return run(true) }, func() time.Duration { return run(false) })
	http.DefaultClient.CloseIdleConnections()
}
