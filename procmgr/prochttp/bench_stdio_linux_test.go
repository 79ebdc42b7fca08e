package prochttp_test

import (
	"testing"

	"github.com/toolproc/toolproc/internal/beside"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// A start that waits for its end, through a command's stdin and stdout and in
// this process, in turns.
func BenchmarkStdio(b *testing.B) {
	local := newLocal(b, nil)
	far := dialing(b, prochttp.Command(toFarSide(b)...), prochttp.ClientOptions{})
	start := func(h procmgr.Host) func() { return func() { run(b, h, "true") } }
	beside.Run(b, start(far), start(local))
}
