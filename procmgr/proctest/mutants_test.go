package proctest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

var mutants = []mutant{
	// Processes
	{"loses the exit code", process(func(p *procmgr.Process) { p.ExitCode = nil }), "start/exit code; detached/wait ends; signal/ends a process; list/order and states"},
	{"forgets the signal", process(func(p *procmgr.Process) { p.Signal = "" }), "start/exit code; signal/ends a process; detached/exit code"},
	{"takes exit codes for signals", process(func(p *procmgr.Process) {
		if p.ExitCode != nil && *p.ExitCode == 137 {
			p.Signal, p.EndedBy = "SIGKILL", procmgr.CauseSignal
		}
	}), "start/exit code; signal/ends a process"},
	{"says that all has exited", process(func(p *procmgr.Process) { p.State = procmgr.Exited }), "start/returns once started; wait/ends at the time; list/order and states"},
	{"has no PID", process(func(p *procmgr.Process) { p.PID = 0 }), "start/returns once started"},
	{"has an end from the start", process(func(p *procmgr.Process) { p.ExitedAt, p.EndedBy = time.Now(), procmgr.CauseExit }), "start/returns once started; start/fields"},
	{"starts anew whenever it is asked", process(func(p *procmgr.Process) { p.StartedAt = time.Now() }), "start/fields; once/while it runs"},
	{"does not tell how long a process has run", process(func(p *procmgr.Process) { p.Elapsed = 0 }), "start/elapsed"},
	{"subtracts the clocks of two machines", process(func(p *procmgr.Process) {
		p.StartedAt = p.StartedAt.Add(-10 * time.Minute)
		p.Elapsed = time.Since(p.StartedAt)
	}), "start/elapsed"},
	{"loses the label", process(func(p *procmgr.Process) { p.Background = false }), "start/fields"},
	{"folds the case of IDs", process(func(p *procmgr.Process) { p.ID = strings.ToLower(p.ID) }), "start/IDs of the caller"},
	{"trims commands", process(func(p *procmgr.Process) { p.Command = strings.TrimSpace(p.Command) }), "command/exactly as given"},
	{"does not tell the directory", process(func(p *procmgr.Process) { p.WorkDir = "" }), "directory/asked for"},
	{"forgets the chat", process(func(p *procmgr.Process) { p.ChatID = "" }), "list/the host's; chat/odd names; concurrent/many callers"},
	{"says that what is detached has exited", process(func(p *procmgr.Process) {
		if p.State == procmgr.Detached {
			p.State = procmgr.Exited
		}
	}), "detached/wait ends; detached/output is still collected; detached/output read meanwhile; detached/exit code"},
	{"does not know who ended it", process(func(p *procmgr.Process) { p.EndedBy = procmgr.CauseSignal }), "signal/terminate and interrupt reach the whole tree"},
	{"takes the exit code of what was left", process(func(p *procmgr.Process) {
		if p.State == procmgr.Exited && p.EndedBy == procmgr.CauseRequest {
			*p.ExitCode = 0
		}
	}), "detached/signals"},
	{"tells an end before it is there", process(func(p *procmgr.Process) {
		if p.State == procmgr.Exited && time.Since(p.ExitedAt) < time.Second {
			p.State = procmgr.Running
		}
	}), "events/agree with List"},
	{"shares what it returns", fault{of: func(_ procmgr.Host, codes *sync.Map) fault {
		return process(func(p *procmgr.Process) {
			if p.ExitCode != nil {
				shared, _ := codes.LoadOrStore(p.ID, p.ExitCode)
				p.ExitCode = shared.(*int)
			}
		})
	}}, "concurrent/the caller's to change"},

	// Starts
	{"ends the process with the wait", started(func(_ context.Context, m procmgr.Manager, req procmgr.StartRequest, out *procmgr.Output, _ *error) {
		if req.Wait > 0 && out.Process.State == procmgr.Running {
			_ = m.Signal(context.Background(), out.Process.ID, procmgr.Kill)
		}
	}), "start/returns once started; start/context ends during the wait"},
	{"starts although the context has ended", fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
		if ctx.Err() != nil {
			_, _ = m.Start(context.WithoutCancel(ctx), procmgr.StartRequest{ID: req.ID, Command: req.Command})
			return procmgr.Output{}, ctx.Err()
		}
		return m.Start(ctx, req)
	}}, "start/cut short"},
	{"takes a start whose time is up for one that failed", started(func(ctx context.Context, _ procmgr.Manager, _ procmgr.StartRequest, out *procmgr.Output, err *error) {
		if *err != nil && ctx.Err() != nil {
			*out, *err = procmgr.Output{}, xerrors.Errorf("gateway timeout: %w", procmgr.ErrRefused)
		}
	}), "start/cut short; start/context ends during the wait"},
	{"runs something for what is invalid", started(func(ctx context.Context, m procmgr.Manager, _ procmgr.StartRequest, out *procmgr.Output, err *error) {
		if errors.Is(*err, procmgr.ErrInvalid) {
			*out, *err = m.Start(ctx, procmgr.StartRequest{Command: "true"})
		}
	}), "start/refuses; directory/missing"},
	{"makes odd IDs", started(func(_ context.Context, _ procmgr.Manager, req procmgr.StartRequest, out *procmgr.Output, err *error) {
		if req.ID == "" && *err == nil {
			out.Process.ID = "process " + out.Process.ID
		}
	}), "start/IDs of the host"},
	{"runs twice", started(func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest, out *procmgr.Output, err *error) {
		if out.Attached {
			id := req.ID
			req.ID = ""
			*out, *err = m.Start(ctx, req)
			out.Process.ID = id
		}
	}), "once/while it runs; once/after the exit; once/eight at the same instant; once/labels do not count; once/of the host itself; list/order and states"},
	{"says that it attached always", output(func(out *procmgr.Output, _ procmgr.OutputRequest) { out.Attached = true }), "start/exit code; chat/odd names"},
	{"does not say that it attached", output(func(out *procmgr.Output, _ procmgr.OutputRequest) { out.Attached = false }), "once/while it runs; once/eight at the same instant"},
	{"takes every start for an old one", starting(func(req *procmgr.StartRequest) { req.Age = math.MaxInt64 }), "age/more than the host's"},
	{"starts what is asked for again", starting(func(req *procmgr.StartRequest) { req.Age = 0 }), "age/more than the host's; age/of a forgotten ID"},
	{"ends before its time what has a lifetime", starting(func(req *procmgr.StartRequest) { req.MaxLifetime = min(req.MaxLifetime, 1) }), "lifetime/ends; lifetime/is not over"},
	{"attaches without a wait", fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
		wait := req.Wait
		req.Wait = 0
		out, err := m.Start(ctx, req)
		if err != nil || out.Attached || wait == 0 {
			return out, err
		}
		return m.Output(ctx, out.Process.ID, procmgr.OutputRequest{Wait: wait, Limit: req.Limit})
	}}, "once/attach waits"},
	{"attaches whatever is asked for", started(func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest, out *procmgr.Output, err *error) {
		if errors.Is(*err, procmgr.ErrConflict) {
			*out, *err = m.Output(ctx, req.ID, procmgr.OutputRequest{Wait: req.Wait})
		}
	}), "once/while it runs; once/after the exit; once/of the host itself; concurrent/the caller's to change; input/part of the start"},
	{"returns the ID of a conflict", started(func(_ context.Context, _ procmgr.Manager, req procmgr.StartRequest, out *procmgr.Output, err *error) {
		if errors.Is(*err, procmgr.ErrConflict) {
			out.Process.ID = req.ID
		}
	}), "stop/before the start"},
	{"spends the ID of a refused start", started(func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest, _ *procmgr.Output, err *error) {
		if errors.Is(*err, procmgr.ErrInvalid) && req.ID != "" {
			_ = m.Signal(ctx, req.ID, procmgr.Terminate)
		}
	}), "directory/missing"},

	// Commands
	{"joins lines", starting(func(req *procmgr.StartRequest) { req.Command = strings.ReplaceAll(req.Command, "\n", " ") }), "command/exactly as given"},
	{"cuts commands", starting(func(req *procmgr.StartRequest) { req.Command = req.Command[:min(len(req.Command), 64<<10)] }), "command/exactly as given"},
	{"takes a dash for an option", starting(func(req *procmgr.StartRequest) {
		if strings.HasPrefix(req.Command, "-") {
			req.Command = "echo illegal option; exit 2"
		}
	}), "command/exactly as given"},
	{"keeps the streams apart", starting(func(req *procmgr.StartRequest) {
		if strings.Contains(req.Command, ">&2") {
			req.Command = "errors=$({ " + req.Command + "\n} 3>&1 1>&4 2>&3) 4>&1; echo \"$errors\""
		}
	}), "command/streams in order"},
	{"has an input", before("exec <<END\ninput\nEND\n"), "command/stdin is empty"},
	{"has a terminal", before("test() { :; }\n"), "command/no terminal"}, // the shell now calls this function in place of its test
	{"ignores the directory", starting(func(req *procmgr.StartRequest) { req.WorkDir = "" }), "directory/asked for; directory/missing; once/while it runs"},
	{"resolves against the root", starting(func(req *procmgr.StartRequest) { req.WorkDir = strings.ReplaceAll(req.WorkDir, ".", "/dev") }), "directory/asked for"},
	{"takes ~ for a name", starting(func(req *procmgr.StartRequest) { req.WorkDir = strings.ReplaceAll(req.WorkDir, "~", "/tmp") }), "directory/home"},
	{"ignores the environment", starting(func(req *procmgr.StartRequest) { req.Env = nil }), "environment/of the request; once/after the exit"},
	{"empties the request's map", starting(func(req *procmgr.StartRequest) {
		own := maps.Clone(req.Env)
		clear(req.Env)
		req.Env = own
	}), "environment/of the request"},
	{"has variables of its own over the request's", before("PAGER=cat\n"), "environment/of the request"},
	{"keeps variables for the next", fault{of: func(_ procmgr.Host, kept *sync.Map) fault {
		return starting(func(req *procmgr.StartRequest) {
			for name, value := range req.Env {
				kept.Store(name, value)
			}
			req.Env = map[string]string{}
			kept.Range(func(name, value any) bool {
				req.Env[name.(string)] = value.(string)
				return true
			})
		})
	}}, "environment/of one process only"},
	{"is in a chat always", before(": ${TOOLPROC_CHAT_ID=none}; export TOOLPROC_CHAT_ID\n"), "environment/marks"},
	{"lets marks be replaced", starting(func(req *procmgr.StartRequest) {
		if id, ok := req.Env["TOOLPROC_PROCESS_ID"]; ok {
			req.Command = "TOOLPROC_PROCESS_ID=" + id + "\n" + req.Command
		}
	}), "environment/marks"},
	{"lets labels count", fault{of: func(_ procmgr.Host, labels *sync.Map) fault {
		return fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
			if label, used := labels.LoadOrStore(req.ID, req.Background); req.ID != "" && used && label != req.Background {
				return procmgr.Output{}, procmgr.ErrConflict
			}
			return m.Start(ctx, req)
		}}
	}}, "once/labels do not count"},
	{"tells bash of a dash, or the other way", fault{describe: func(d *procmgr.Description) {
		d.Shell = map[bool]string{true: "dash", false: "bash"}[d.Shell == "bash"]
	}}, "shell/told"},
	{"tells another system", fault{describe: func(d *procmgr.Description) { d.OS = "plan9" }}, "shell/told"},

	// Outputs
	{"shows what is masked", search(func(out *procmgr.Output, _ procmgr.OutputRequest) {
		out.MatchedLine = strings.ReplaceAll(out.MatchedLine, "[withheld: PROCTEST_TOKEN]", "k7Qm2Xw9Rt4Vz8Lp1Nc6")
	}), "environment/secrets"},
	{"does not say that it masks", output(func(out *procmgr.Output, _ procmgr.OutputRequest) { out.Redacted = nil }), "environment/secrets"},
	{"is one byte behind", output(func(out *procmgr.Output, _ procmgr.OutputRequest) { out.Next = max(0, out.Next-1) }), "start/exit code; output/pages; output/next lies between runes; output/from; output/invalid bytes"},
	{"keeps what is before From", reading(func(req *procmgr.OutputRequest) { req.From = 0 }), "output/pages; output/from; until/line by line; until/any new output; limit/from an offset"},
	{"escapes", output(func(out *procmgr.Output, _ procmgr.OutputRequest) { out.Text = html.EscapeString(out.Text) }), "output/bytes survive; command/exactly as given"},
	{"drops invalid bytes", output(func(out *procmgr.Output, _ procmgr.OutputRequest) {
		out.Text = strings.ReplaceAll(out.Text, "\ufffd", "")
	}), "output/invalid bytes"},
	{"keeps the output until the exit", output(func(out *procmgr.Output, _ procmgr.OutputRequest) {
		if out.Process.State != procmgr.Exited {
			out.Text = ""
		}
	}), "output/reading consumes nothing; until/what arrives later"},
	{"does not say what is missing", output(func(out *procmgr.Output, _ procmgr.OutputRequest) { out.Truncated = nil }), "limit/by default; limit/as asked; limit/lines; limit/from an offset"},
	{"loses the last line", output(func(out *procmgr.Output, _ procmgr.OutputRequest) {
		out.Text = out.Text[:strings.LastIndexByte(strings.TrimSuffix(out.Text, "\n"), '\n')+1]
	}), "command/complete at the exit; limit/by default"},
	{"drops the head", output(func(out *procmgr.Output, _ procmgr.OutputRequest) { out.Text = out.Text[max(0, len(out.Text)-16<<10):] }), "limit/by default; limit/none"},
	{"ignores limits", starting(func(req *procmgr.StartRequest) { req.Limit = headtail.Limits{} }).
		and(reading(func(req *procmgr.OutputRequest) { req.Limit = headtail.Limits{} })), "limit/as asked; limit/of Start; limit/lines"},
	{"takes any change for none", output(func(out *procmgr.Output, _ procmgr.OutputRequest) {
		if out.Changes != nil {
			*out.Changes = procmgr.Changes{Same: true, Lines: out.Changes.Lines}
		}
	}), "output/changes"},
	{"compares with the output of anybody", output(func(out *procmgr.Output, req procmgr.OutputRequest) {
		if out.Changes == nil && req.Against != "" {
			out.Changes = &procmgr.Changes{Same: true}
		}
	}), "output/changes of another"},
	{"redraws without a word", output(func(out *procmgr.Output, _ procmgr.OutputRequest) { out.Live = "" }), "output/a line redrawn"},
	{"follows behind the live line", reading(func(req *procmgr.OutputRequest) { req.From += min(req.From, 1) }), "output/pages"},
	{"knows nothing of the unknown", wrong(procmgr.ErrNotFound, nil), "output/unknown process; signal/unknown process; isolation/of other chats; stop/before the start; input/no stdin"},
	{"mixes up its callers", fault{of: func(_ procmgr.Host, last *sync.Map) fault {
		return fault{output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
			out, err := m.Output(ctx, id, req)
			if before, ok := last.Swap("", out); ok {
				out = before.(procmgr.Output)
			}
			return out, err
		}}
	}}, "concurrent/many callers"},

	// Waits and searches
	{"waits two seconds at most", reading(func(req *procmgr.OutputRequest) { req.Wait = min(req.Wait+time.Second, 2*time.Second) }), "wait/the longest"}, // the wait has become negative
	{"sees what is new alone", matches(func(out *procmgr.Output, req procmgr.OutputRequest) bool { return out.Matched && req.Wait > 0 }), "until/what is there already"},
	{"takes the text for one line", matches(func(out *procmgr.Output, req procmgr.OutputRequest) bool {
		return regexp.MustCompile(req.Until).MatchString(out.Text)
	}), "until/line by line; until/first 4 KiB of a line"},
	{"sees whole lines alone", matches(func(out *procmgr.Output, _ procmgr.OutputRequest) bool {
		return out.Matched && strings.HasSuffix(out.Text, "\n")
	}), "until/what arrives later"},
	{"takes a dot for a character", matches(func(out *procmgr.Output, req procmgr.OutputRequest) bool {
		return out.Matched && (req.Until != "." || strings.Trim(out.Text, "\n") != "")
	}), "until/any new output"},
	{"takes the end for a match", matches(func(out *procmgr.Output, _ procmgr.OutputRequest) bool {
		return out.Matched || out.Process.State == procmgr.Exited
	}), "until/ends with the process; wait/after the exit"},
	{"ends what a shell leaves", started(func(ctx context.Context, m procmgr.Manager, _ procmgr.StartRequest, out *procmgr.Output, _ *error) {
		if out.Process.State == procmgr.Detached {
			_ = m.Signal(ctx, out.Process.ID, procmgr.Kill)
		}
	}), "detached/wait ends"},
	{"does not say what it has found", search(func(out *procmgr.Output, _ procmgr.OutputRequest) { out.MatchedLine = "" }), "search/the line that matched"},
	{"counts from the page", search(func(out *procmgr.Output, req procmgr.OutputRequest) { out.MatchedAt -= req.From }), "search/the line that matched"},
	{"says that it has looked at all", search(func(out *procmgr.Output, _ procmgr.OutputRequest) { out.Unsearched = 0 }), "search/what was not searched"},
	{"says that it has looked at nothing", search(func(out *procmgr.Output, _ procmgr.OutputRequest) { out.Unsearched = out.Next }), "search/what was not searched"},

	// Ports
	{"tells ports unasked", reading(func(req *procmgr.OutputRequest) { req.Ports = true }), "ports/until listening"},
	{"waits for every port", reading(func(req *procmgr.OutputRequest) { req.UntilListening = min(req.UntilListening, 65535) }), "ports/no such port"},

	// Signals
	{"kills whatever it is told", fault{signal: func(ctx context.Context, m procmgr.Manager, id string, _ procmgr.Signal) error {
		return m.Signal(ctx, id, procmgr.Kill)
	}}, "signal/ends a process; signal/a handler's exit code; signal/refuses; stop/interrupt before the start"},
	{"does not wait for the end of a kill", fault{signal: func(_ context.Context, m procmgr.Manager, id string, sig procmgr.Signal) error {
		if _, err := m.Output(context.Background(), id, procmgr.OutputRequest{}); err != nil || sig != procmgr.Kill {
			return m.Signal(context.Background(), id, sig)
		}
		time.AfterFunc(50*time.Millisecond, func() { _ = m.Signal(context.Background(), id, sig) })
		return nil
	}}, "signal/kill reaches the whole tree; signal/ends a process; signal/by several at once; concurrent/many callers"},
	{"succeeds with what has ended", wrong(procmgr.ErrNotRunning, nil), "signal/after the exit; detached/wait for the rest"},
	{"says that what has ended is not there", wrong(procmgr.ErrNotRunning, procmgr.ErrNotFound), "signal/after the exit; input/no reader"},
	{"ends all at once", fault{of: func(h procmgr.Host, _ *sync.Map) fault {
		return fault{signal: func(ctx context.Context, m procmgr.Manager, id string, sig procmgr.Signal) error {
			err := m.Signal(ctx, id, sig)
			page, _ := h.List(ctx, procmgr.ListRequest{State: procmgr.Running})
			for _, p := range page.Processes {
				_ = h.Signal(ctx, p.ID, sig)
			}
			return err
		}}
	}}, "signal/hits no other; isolation/of other chats; list/order and states"},
	{"is overtaken by the start", fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
		time.Sleep(5 * time.Millisecond) // so that a stop comes before it
		return m.Start(ctx, req)
	}}.and(fault{signal: func(ctx context.Context, m procmgr.Manager, id string, sig procmgr.Signal) error {
		if _, err := m.Output(ctx, id, procmgr.OutputRequest{}); errors.Is(err, procmgr.ErrNotFound) {
			return err // and does not spend the ID
		}
		return m.Signal(ctx, id, sig)
	}}), "stop/before the start; stop/of the host itself; stop/one chat's alone; stop/in a race"},

	// Lists and chats
	{"lists by ID", page(func(page *procmgr.ListPage) {
		slices.SortFunc(page.Processes, func(a, b procmgr.Process) int { return cmp.Compare(a.ID, b.ID) })
	}), "list/order and states"},
	{"lists the oldest first", page(func(page *procmgr.ListPage) { slices.Reverse(page.Processes) }), "list/order and states; list/the host's"},
	{"lists what runs alone", page(func(page *procmgr.ListPage) {
		page.Processes = slices.DeleteFunc(page.Processes, func(p procmgr.Process) bool { return p.State != procmgr.Running })
	}), "list/order and states; list/the host's; detached/wait ends"},
	{"lists twice", page(func(page *procmgr.ListPage) { page.Processes = append(page.Processes, page.Processes...) }), "list/order and states; chat/odd names"},
	{"counts what is in the page", page(func(page *procmgr.ListPage) { page.Total = len(page.Processes) }), "list/order and states"},
	{"lists all, whatever the limit", listing(func(req *procmgr.ListRequest) { req.Limit = 0 }), "list/order and states"},
	{"lists any state", listing(func(req *procmgr.ListRequest) { req.State = "" }), "list/order and states"},
	{"lists other chats", fault{of: func(h procmgr.Host, _ *sync.Map) fault {
		return fault{list: func(ctx context.Context, m procmgr.Manager, req procmgr.ListRequest) (procmgr.ListPage, error) {
			if page, err := m.List(ctx, req); err != nil {
				return page, err
			}
			return h.List(ctx, req)
		}}
	}}, "isolation/of other chats; isolation/of the host; chat/odd names"},
	{"has one chat for all", fault{chat: func(string) string { return "all" }}, "chat/odd names; isolation/of other chats; isolation/one ID in two chats; stop/one chat's alone"},
	{"trims the names of chats", fault{chat: strings.TrimSpace}, "chat/odd names"},
	{"folds the case of chats", fault{chat: strings.ToUpper}, "chat/odd names"},
	{"has a new chat for every call", fault{of: func(procmgr.Host, *sync.Map) fault {
		return fault{chat: func(id string) string { return fmt.Sprint(id, procmgr.NewID()) }}
	}}, "chat/odd names"},
	{"makes a chat of any name", fault{chat: func(id string) string { // like a host that fails open
		id = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return -1
			}
			return r
		}, strings.ToValidUTF8(id, ""))
		return cmp.Or(id[:min(len(id), 256)], "nobody")
	}}, "chat/refused"},
	{"does for chats what the host can", fault{of: func(h procmgr.Host, _ *sync.Map) fault {
		return fault{output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
			out, err := m.Output(ctx, id, req)
			if errors.Is(err, procmgr.ErrNotFound) {
				return h.Output(ctx, id, req)
			}
			return out, err
		}}.and(fault{signal: func(ctx context.Context, m procmgr.Manager, id string, sig procmgr.Signal) error {
			err := m.Signal(ctx, id, sig)
			if errors.Is(err, procmgr.ErrNotFound) {
				return h.Signal(ctx, id, sig)
			}
			return err
		}}).and(fault{input: func(ctx context.Context, _ procmgr.Manager, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
			return h.Input(ctx, id, req)
		}})
	}}, "isolation/of other chats; isolation/of the host; input/no stdin"},
	{"tells of others in its errors", fault{of: func(h procmgr.Host, _ *sync.Map) fault {
		return fault{output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
			out, err := m.Output(ctx, id, req)
			if errors.Is(err, procmgr.ErrNotFound) {
				if _, known := h.Output(ctx, id, procmgr.OutputRequest{}); known == nil {
					err = xerrors.Errorf("another chat's: %w", err)
				}
			}
			return out, err
		}}
	}}, "isolation/of other chats; isolation/of the host"},
	{"takes any of several", wrong(procmgr.ErrConflict, nil), "isolation/one ID in two chats"},

	// Events
	{"tells no starts", events(func(page *procmgr.EventPage) {
		page.Events = slices.DeleteFunc(page.Events, func(e procmgr.Event) bool { return e.Kind == procmgr.EventStarted })
	}), "events/each start and end"},
	{"tells nothing between start and end", events(func(page *procmgr.EventPage) {
		page.Events = slices.DeleteFunc(page.Events, func(e procmgr.Event) bool { return e.Kind == procmgr.EventDetached || e.Kind == procmgr.EventMatched })
	}), "events/each start and end; events/notify"},
	{"tells the newest first", events(func(page *procmgr.EventPage) { slices.Reverse(page.Events) }), "events/each start and end; events/place by place"},
	{"tells everything each time", asking(func(req *procmgr.EventsRequest) { req.After = "" }), "events/place by place"},
	{"has pages of any length", asking(func(req *procmgr.EventsRequest) { req.Limit = 0 }), "events/place by place"},
	{"does not wait for events", asking(func(req *procmgr.EventsRequest) { req.Wait = 0 }), "events/wait"},
	{"tells every chat the events of all", fault{of: func(h procmgr.Host, _ *sync.Map) fault {
		return fault{events: func(ctx context.Context, _ procmgr.Manager, req procmgr.EventsRequest) (procmgr.EventPage, error) {
			return h.Events(ctx, req)
		}}
	}}, "events/of one chat"},
	{"never says that there is a gap", events(func(page *procmgr.EventPage) { page.Gap = false }), "events/gap"},
	{"takes another Notify for another command", starting(func(req *procmgr.StartRequest) { req.Command += " # " + req.Notify }), "events/notify"},

	// Input
	{"takes other data for the same", wrong(procmgr.ErrConflict, nil), "input/once"},
	{"takes everything that is invalid", wrong(procmgr.ErrInvalid, nil), "input/close; input/no stdin; start/refuses; until/refuses; signal/refuses; chat/refused"},
	{"writes in pieces", fault{input: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
		written := 0
		for data := range slices.Chunk(req.Data, 1000) {
			piece := req
			piece.Data, piece.Close = data, req.Close && written+len(data) == len(req.Data)
			out, err := m.Input(ctx, id, piece)
			if written += out.Written; err != nil || written == len(req.Data) {
				out.Written = written
				return out, err
			}
			time.Sleep(time.Millisecond) // the others have their turn, also on a busy machine
		}
		return m.Input(ctx, id, req)
	}}, "input/together"},
	{"matches what stood there before the write", fault{input: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
		out, err := m.Input(ctx, id, req)
		if err == nil && req.Until != "" && !out.Matched {
			whole, lost := m.Output(ctx, id, procmgr.OutputRequest{Until: req.Until, Wait: time.Nanosecond})
			out.Matched, out.MatchedLine, out.MatchedAt, err = whole.Matched, whole.MatchedLine, whole.MatchedAt, lost
		}
		return out, err
	}}, "input/writes"},
	{"does not wait for quiet", typing(func(req *procmgr.InputRequest) { req.UntilQuiet = min(req.UntilQuiet, 1) }), "input/until quiet"},
	{"takes every silent process for one that waits", output(func(out *procmgr.Output, _ procmgr.OutputRequest) {
		if out.Process.State == procmgr.Running {
			out.Process.Waiting = &procmgr.Waiting{Since: time.Now(), PID: 1}
		}
	}), "input/does not wait"},
}

// hanging does not return from a Start whose context has ended, as long as the process
// lives.
var hanging = mutant{"does not return from what it has given up", started(func(ctx context.Context, m procmgr.Manager, _ procmgr.StartRequest, out *procmgr.Output, _ *error) {
	if ctx.Err() != nil && out.Process.ID != "" {
		_, _ = m.Output(context.WithoutCancel(ctx), out.Process.ID, procmgr.OutputRequest{Wait: math.MaxInt64})
	}
}), "start/cut short; start/context ends during the wait"}

// slowMutants are found out by a wait that lasts until its time is up.
var slowMutants = []mutant{
	hanging,
	{"matches nothing", reading(func(req *procmgr.OutputRequest) {
		if req.Until != "" {
			req.Until = "no such line"
		}
	}), "basic/run, read, list and end"},
	{"does not answer", fault{output: func(ctx context.Context, _ procmgr.Manager, _ string, _ procmgr.OutputRequest) (procmgr.Output, error) {
		<-ctx.Done()
		return procmgr.Output{}, ctx.Err()
	}}, "basic/run, read, list and end"},
	{"says that all runs", process(func(p *procmgr.Process) { p.State = procmgr.Running }), "basic/run, read, list and end"},
	{"starts nothing", fault{start: func(context.Context, procmgr.Manager, procmgr.StartRequest) (procmgr.Output, error) {
		return procmgr.Output{}, procmgr.ErrRefused
	}}, "basic/run, read, list and end"},
	{"lists nothing", page(func(page *procmgr.ListPage) { *page = procmgr.ListPage{} }), "basic/run, read, list and end"},
	{"does not wait", starting(func(req *procmgr.StartRequest) { req.Wait = 0 }).and(reading(func(req *procmgr.OutputRequest) { req.Wait = 0 })), "basic/run, read, list and end"},
	{"ignores the context", fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
		return m.Start(context.WithoutCancel(ctx), req)
	}}.and(fault{output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
		return m.Output(context.WithoutCancel(ctx), id, req)
	}}), "start/context ends during the wait; wait/context ends"},
	{"waits out a reader's time at the end", fault{output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
		began := time.Now()
		out, err := m.Output(ctx, id, req)
		if out.Process.State == procmgr.Exited && out.Process.EndedBy == procmgr.CauseExit {
			select {
			case <-time.After(req.Wait - time.Since(began)):
			case <-ctx.Done():
			}
		}
		return out, err
	}}, "wait/after the exit; wait/many at once; detached/wait for the rest"},
	{"looks at what is kept", fault{output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
		if req.Until != "" && req.From > 0 {
			_, _ = m.Output(ctx, id, procmgr.OutputRequest{Wait: req.Wait})
			req.Wait = 0
		}
		return m.Output(ctx, id, req)
	}}, "until/what is dropped meanwhile; until/what arrives later"},
	{"waits for the output to reach From", fault{output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
		out, err := m.Output(ctx, id, procmgr.OutputRequest{From: req.From})
		if err == nil && req.From > out.Next && req.Until != "" {
			req.Until = "no such line"
		}
		return m.Output(ctx, id, req)
	}}, "until/beyond the end"},
	{"keeps one pattern for all", fault{of: func(_ procmgr.Host, pattern *sync.Map) fault {
		return reading(func(req *procmgr.OutputRequest) {
			if strings.HasPrefix(req.Until, "^line") {
				first, _ := pattern.LoadOrStore("", req.Until)
				req.Until = first.(string)
			}
		})
	}}, "until/several at once"},
	{"forgets the state that the caller knows", reading(func(req *procmgr.OutputRequest) { req.State = "" }), "wait/state"},
	{"asks for ports and does not wait for one", reading(func(req *procmgr.OutputRequest) { req.UntilListening = 0 }), "ports/until listening"},
	{"terminates where it is to kill", fault{signal: func(ctx context.Context, m procmgr.Manager, id string, sig procmgr.Signal) error {
		if sig == procmgr.Kill {
			sig = procmgr.Terminate
		}
		return m.Signal(ctx, id, sig)
	}}, "signal/kill reaches the whole tree; signal/by several at once; signal/ends a process"},
	{"does not continue what is stopped", fault{signal: func(ctx context.Context, m procmgr.Manager, id string, sig procmgr.Signal) error {
		if sig == procmgr.Kill {
			return m.Signal(ctx, id, sig)
		}
		return toShell(ctx, m, id, syscall.SIGTERM)
	}}, "signal/ends a process"},
	{"signals the shell alone", fault{signal: func(ctx context.Context, m procmgr.Manager, id string, _ procmgr.Signal) error {
		return toShell(ctx, m, id, syscall.SIGKILL)
	}}, "signal/terminate and interrupt reach the whole tree; signal/kill reaches the whole tree; signal/what has left the session; detached/signals"},
	{"signals the shell alone and says that all is gone", fault{signal: func(ctx context.Context, m procmgr.Manager, id string, _ procmgr.Signal) error {
		return toShell(ctx, m, id, syscall.SIGKILL)
	}}.and(process(func(p *procmgr.Process) {
		if p.State == procmgr.Detached {
			p.State = procmgr.Exited
		}
		p.EndedBy = procmgr.CauseRequest
	})), "signal/kill reaches the whole tree; signal/what has left the session"},
	{"has no lifetimes", starting(func(req *procmgr.StartRequest) { req.MaxLifetime = 0 }), "lifetime/ends; start/refuses"},
	{"writes nothing", typing(func(req *procmgr.InputRequest) { req.Data = nil }), "input/writes"},
	{"forgets the keys", typing(func(req *procmgr.InputRequest) { req.IdempotencyKey = "" }), "input/once"},
	{"does not close", typing(func(req *procmgr.InputRequest) { req.Close = false }), "input/close"},
	{"gives a pipe for a terminal", starting(func(req *procmgr.StartRequest) { req.Stdin = min(req.Stdin, procmgr.StdinPipe) }), "input/terminal"},
	{"writes a secret at once", typing(func(req *procmgr.InputRequest) { req.Secret = false }), "input/secret"},
	{"does not end a wait for a question", reading(func(req *procmgr.OutputRequest) { req.UntilWaiting = false }), "input/waits"},
}

// toShell sends a signal to the shell of a process alone.
func toShell(ctx context.Context, m procmgr.Manager, id string, sig os.Signal) error {
	out, err := m.Output(ctx, id, procmgr.OutputRequest{})
	if err != nil {
		return err
	}
	shell, err := os.FindProcess(out.Process.PID)
	if err != nil {
		return err
	}
	return shell.Signal(sig)
}
