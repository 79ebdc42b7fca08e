package prochttp_test

import (
	"path/filepath"
	"testing"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// A client is a Host like the one behind it.
func TestHostOverTCP(t *testing.T) {
	proctest.TestHost(t, func(t *testing.T) procmgr.Host {
		return newClient(t, serve(t, newHandler(t, newLocal(t, nil), nil)), nil)
	})
}

// A client of a handler of a client, over TLS and a unix socket, and behind them a host
// with logs.
func TestHeldHostOverChain(t *testing.T) {
	testenv.Held(t)
	proctest.TestHost(t, func(t *testing.T) procmgr.Host {
		l := newLocal(t, &proclocal.Options{LogDir: filepath.Join(t.TempDir(), "logs")})
		return overTLS(t, overUnix(t, l))
	})
}
