package proctest_test

import (
	"github.com/toolproc/toolproc/procmgr"
)

var brokenMembers = []brokenHost{
	{
		name:  "tells members unasked",
		fault: always(reads(func(req *procmgr.OutputRequest) { req.Members = true })),
		fails: []string{"members/of this process"},
	},
	{
		name: "tells the leader alone",
		fault: always(reports(func(out *procmgr.Output) {
			out.Members = out.Members[:min(1, len(out.Members))]
		})),
		fails: []string{"members/of this process"},
	},
	{
		name: "tells no leader",
		fault: always(reports(func(out *procmgr.Output) {
			for i := range out.Members {
				if out.Members[i].PID == out.Process.PID {
					out.Members[i].PID = 1
				}
			}
		})),
		fails: []string{"members/of this process"},
	},
	{
		name: "remembers members",
		fault: always(reports(func(out *procmgr.Output) {
			if out.Process.State == procmgr.Exited {
				out.Members = []procmgr.Member{{PID: 2}}
			}
		})),
		fails: []string{"members/of one that has exited"},
	},
}
