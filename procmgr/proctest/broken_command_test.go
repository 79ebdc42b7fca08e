package proctest_test

import (
	"context"
	"maps"
	"strings"
	"sync"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// before is the fault of running a script before every command.
func before(script string) fault {
	return starts(func(req *procmgr.StartRequest) { req.Command = script + req.Command })
}

var brokenCommands = []brokenHost{
	{
		name:  "trims commands",
		fault: always(tells(func(p *procmgr.Process) { p.Command = strings.TrimSpace(p.Command) })),
		fails: []string{"command/exactly as given"},
	},
	{
		name:  "joins lines",
		fault: always(starts(func(req *procmgr.StartRequest) { req.Command = strings.ReplaceAll(req.Command, "\n", " ") })),
		fails: []string{"command/exactly as given"},
	},
	{
		name:  "cuts commands",
		fault: always(starts(func(req *procmgr.StartRequest) { req.Command = req.Command[:min(len(req.Command), 64<<10)] })),
		fails: []string{"command/100 KB"},
	},
	{
		name: "takes a dash for an option",
		fault: always(starts(func(req *procmgr.StartRequest) {
			if strings.HasPrefix(req.Command, "-") {
				req.Command = "echo illegal option; exit 2"
			}
		})),
		fails: []string{"command/begins with a dash"},
	},
	{
		name: "keeps the streams apart",
		fault: always(starts(func(req *procmgr.StartRequest) {
			if strings.Contains(req.Command, ">&2") {
				req.Command = "errors=$({ " + req.Command + "\n} 3>&1 1>&4 2>&3) 4>&1; echo \"$errors\""
			}
		})),
		fails: []string{"command/streams in order"},
	},
	{
		name:  "has an input",
		fault: always(before("exec <<END\ninput\nEND\n")),
		fails: []string{"command/stdin is empty"},
	},
	{
		name:  "has a terminal",
		fault: always(before("test() { :; }\n")), // the shell now calls this function in place of its test
		fails: []string{"command/no terminal"},
	},
	{
		name: "loses the last line",
		fault: always(prints(func(out *procmgr.Output, _ procmgr.OutputRequest) {
			text := strings.TrimSuffix(out.Text, "\n")
			out.Text = out.Text[:strings.LastIndexByte(text, '\n')+1]
		})),
		fails: []string{"start/exit code", "command/complete at the exit", "limit/by default", "limit/as asked"},
	},
	{
		name:  "does not tell the directory",
		fault: always(tells(func(p *procmgr.Process) { p.WorkDir = "" })),
		fails: []string{"directory/by default", "directory/asked for"},
	},
	{
		name:  "tells another directory",
		fault: always(tells(func(p *procmgr.Process) { p.WorkDir = "/" })),
		fails: []string{"directory/by default", "directory/asked for"},
	},
	{
		name:  "ignores the directory",
		fault: always(starts(func(req *procmgr.StartRequest) { req.WorkDir = "" })),
		fails: []string{"directory/asked for", "directory/missing", "once/conflict while it runs"},
	},
	{
		name: "resolves against the root",
		fault: always(starts(func(req *procmgr.StartRequest) {
			if req.WorkDir == "." {
				req.WorkDir = "/dev"
			}
		})),
		fails: []string{"directory/relative"},
	},
	{
		name: "has another home",
		fault: always(starts(func(req *procmgr.StartRequest) {
			if below, ok := strings.CutPrefix(req.WorkDir, "~"); ok {
				req.WorkDir = strings.TrimSuffix("/tmp"+below, "/")
			}
		})),
		fails: []string{"directory/home"},
	},
	{
		name: "takes ~ for a name",
		fault: always(starts(func(req *procmgr.StartRequest) {
			if strings.HasPrefix(req.WorkDir, "~") {
				req.WorkDir = "./" + req.WorkDir
			}
		})),
		fails: []string{"directory/home"},
	},
	{
		name:  "passes over what nobody needs",
		fault: always(prints(func(out *procmgr.Output, _ procmgr.OutputRequest) { out.PassedOver = "no such directory: /srv" })),
		fails: []string{"directory/passed over"},
	},
	{
		name: "forgets what it has passed over",
		fault: always(fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
			out, err := m.Start(ctx, req)
			if err == nil && req.WorkDir == "" {
				out.PassedOver = "no such directory: /srv"
			}
			return out, err
		}}),
		fails: []string{"directory/passed over"},
	},
	{
		name:  "ignores the environment",
		fault: always(starts(func(req *procmgr.StartRequest) { req.Env = nil })),
		fails: []string{"environment/of the request", "once/conflict after the exit"},
	},
	{
		name: "drops empty variables",
		fault: always(starts(func(req *procmgr.StartRequest) {
			req.Env = maps.Clone(req.Env)
			maps.DeleteFunc(req.Env, func(_, value string) bool { return value == "" })
		})),
		fails: []string{"environment/of the request", "once/conflict while it runs"},
	},
	{
		name:  "empties the request's map",
		fault: always(emptiesEnv),
		fails: []string{"environment/of the request", "concurrent/the caller's to change"},
	},
	{
		name:  "has variables of its own over the request's",
		fault: always(before("PAGER=cat\n")),
		fails: []string{"environment/of the request"},
	},
	{
		name: "keeps variables for the next",
		fault: func(*proclocal.Local) fault {
			var mu sync.Mutex
			kept := map[string]string{}
			return starts(func(req *procmgr.StartRequest) {
				mu.Lock()
				defer mu.Unlock()
				maps.Copy(kept, req.Env)
				req.Env = maps.Clone(kept)
			})
		},
		fails: []string{"environment/of one process only"},
	},
	{
		name:  "has no marks",
		fault: always(before("unset TOOLPROC TOOLPROC_PROCESS_ID TOOLPROC_CHAT_ID\n")),
		fails: []string{"environment/marks", "start/IDs of the caller", "chat/odd names"},
	},
	{
		name:  "is in a chat always",
		fault: always(before(": ${TOOLPROC_CHAT_ID=none}; export TOOLPROC_CHAT_ID\n")),
		fails: []string{"environment/marks"},
	},
	{
		name: "lets marks be replaced",
		fault: always(starts(func(req *procmgr.StartRequest) {
			if id, ok := req.Env["TOOLPROC_PROCESS_ID"]; ok {
				req.Command = "TOOLPROC_PROCESS_ID=" + id + "\n" + req.Command
			}
		})),
		fails: []string{"environment/marks are true"},
	},
}

// emptiesEnv takes the map of a request as its own, and empties it.
var emptiesEnv = starts(func(req *procmgr.StartRequest) {
	own := maps.Clone(req.Env)
	clear(req.Env)
	req.Env = own
})
