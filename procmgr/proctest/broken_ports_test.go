package proctest_test

import (
	"context"
	"net"

	"github.com/toolproc/toolproc/procmgr"
)

var brokenPorts = []brokenHost{
	{
		name: "does not wait for a port",
		fault: always(reads(func(req *procmgr.OutputRequest) {
			if req.UntilListening != 0 {
				req.Wait = 0
			}
		})),
		fails: []string{"ports/until listening"},
	},
	{
		name:  "asks for ports and does not wait for one",
		slow:  true,
		fault: always(reads(func(req *procmgr.OutputRequest) { req.UntilListening = 0 })),
		fails: []string{"ports/until listening"},
	},
	{
		name: "leaves out the host of an address",
		fault: always(reports(func(out *procmgr.Output) {
			for i, l := range out.Listening {
				_, port, _ := net.SplitHostPort(l.Addr)
				out.Listening[i].Addr = ":" + port
			}
		})),
		fails: []string{"ports/until listening", "ports/of this process"},
	},
	{
		name: "knows no member",
		fault: always(reports(func(out *procmgr.Output) {
			for i := range out.Listening {
				out.Listening[i].PID = 0
			}
		})),
		fails: []string{"ports/of this process"},
	},
	{
		name: "tells the ports of every process",
		fault: always(fault{output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
			out, err := m.Output(ctx, id, req)
			page, failed := m.List(ctx, procmgr.ListRequest{})
			all := page.Processes
			if err != nil || failed != nil || !req.Ports {
				return out, err
			}
			out.Listening = nil
			for _, p := range all {
				one, err := m.Output(ctx, p.ID, req)
				if err != nil {
					return out, err
				}
				out.Listening = append(out.Listening, one.Listening...)
			}
			return out, nil
		}}),
		fails: []string{"ports/of this process"},
	},
	{
		name:  "tells ports unasked",
		fault: always(reads(func(req *procmgr.OutputRequest) { req.Ports = true })),
		fails: []string{"ports/of this process"},
	},
	{
		name: "waits for every port",
		fault: always(reads(func(req *procmgr.OutputRequest) {
			if req.UntilListening > 65535 {
				req.UntilListening = 0
			}
		})),
		fails: []string{"ports/no such port"},
	},
}
