package servertest_test

import (
	"testing"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// Over NATS, a client is a Host like the one behind it.
func TestHostOverNATS(t *testing.T) {
	url := newServer(t, nil).ClientURL()
	proctest.TestHost(t, func(t *testing.T) procmgr.Host {
		serve(t, connect(t, url), machine(t), newHandler(t, newLocal(t)), nil)
		return newClient(t, connect(t, url), machine(t))
	})
}

// The rights of the configuration in ../README.md are enough for all of it.
func TestHeldHostOverFleet(t *testing.T) {
	longTest(t)
	f := newFleet(t)
	proctest.TestHost(t, func(t *testing.T) procmgr.Host {
		return newClient(t, f.connect(t, "operator").Conn, "build")
	})
}
