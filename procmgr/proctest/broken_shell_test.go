package proctest_test

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// tellsShell is the fault of telling another shell than the one that there is.
func tellsShell(f func(name string) (string, error)) func(*proclocal.Local) fault {
	return func(*proclocal.Local) fault {
		return fault{shell: func(ctx context.Context, m procmgr.Manager) (string, error) {
			name, err := procmgr.Shell(ctx, m)
			if err != nil {
				return "", err
			}
			return f(name)
		}}
	}
}

var brokenShells = []brokenHost{
	{name: "tells bash of a dash, or the other way", fails: []string{"shell/told"}, fault: tellsShell(func(name string) (string, error) {
		if name == "bash" {
			return "dash", nil
		}
		return "bash", nil
	})},
	{name: "tells a path", fails: []string{"shell/told"}, fault: tellsShell(func(name string) (string, error) { return "/bin/" + name, nil })},
	{name: "tells something else each time", fails: []string{"shell/told"}, fault: func(*proclocal.Local) fault {
		var asked atomic.Int32
		return fault{shell: func(context.Context, procmgr.Manager) (string, error) {
			if asked.Add(1)%2 == 0 {
				return "", errors.ErrUnsupported
			}
			return "bash", nil
		}}
	}},
	{name: "tells it to nobody, with an error of its own", fails: []string{"shell/told"}, fault: tellsShell(func(string) (string, error) {
		return "", errors.New("it is nobody's business")
	})},
}
