package proctest_test

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// describes is the fault of describing another machine than the one that there is.
func describes(f func(d *procmgr.Description) error) func(*proclocal.Local) fault {
	return always(fault{describe: func(ctx context.Context, m procmgr.Manager) (procmgr.Description, error) {
		d, err := m.Describe(ctx)
		if err != nil {
			return d, err
		}
		err = f(&d)
		return d, err
	}})
}

var brokenShells = []brokenHost{
	{name: "tells bash of a dash, or the other way", fails: []string{"shell/told"}, fault: describes(func(d *procmgr.Description) error {
		if d.Shell == "bash" {
			d.Shell = "dash"
		} else {
			d.Shell = "bash"
		}
		return nil
	})},
	{name: "tells a path", fails: []string{"shell/told"}, fault: describes(func(d *procmgr.Description) error {
		d.Shell = "/bin/" + d.Shell
		return nil
	})},
	{name: "tells another system", fails: []string{"shell/told"}, fault: describes(func(d *procmgr.Description) error {
		d.OS = "plan9"
		return nil
	})},
	{name: "tells something else each time", fails: []string{"shell/told"}, fault: func(*proclocal.Local) fault {
		var asked atomic.Int32
		return fault{describe: func(context.Context, procmgr.Manager) (procmgr.Description, error) {
			if asked.Add(1)%2 == 0 {
				return procmgr.Description{}, nil
			}
			return procmgr.Description{Shell: "bash"}, nil
		}}
	}},
	{name: "tells it to nobody, with an error of its own", fails: []string{"shell/told"}, fault: describes(func(*procmgr.Description) error {
		return errors.New("it is nobody's business")
	})},
}
