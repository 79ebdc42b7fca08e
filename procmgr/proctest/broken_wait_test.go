package proctest_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// matches is the fault of taking other output for a match of Until.
func matches(f func(out procmgr.Output, req procmgr.OutputRequest) bool) fault {
	return fault{output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
		out, err := m.Output(ctx, id, req)
		if err == nil && req.Until != "" {
			out.Matched = f(out, req)
		}
		return out, err
	}}
}

var brokenWaits = []brokenHost{
	{
		name: "waits out a reader's time",
		fault: always(fault{output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
			end := time.Now().Add(req.Wait)
			out, err := m.Output(ctx, id, req)
			until(ctx, end)
			return out, err
		}}),
		fails: []string{
			"wait/ends at the exit", "wait/after the exit", "wait/many at once", "detached/wait for the rest",
			"until/what is there already", "until/what arrives later", "signal/by several at once",
		},
		slow: true,
	},
	{
		name: "ends the process with a reader's wait",
		fault: always(fault{output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
			out, err := m.Output(ctx, id, req)
			if req.Wait > 0 && !out.Matched && out.Process.State == procmgr.Running {
				_ = m.Signal(context.Background(), id, procmgr.Kill)
			}
			return out, err
		}}),
		fails: []string{"wait/ends at the time", "wait/context ended before"},
	},
	{
		name:  "waits two seconds at most",
		fault: always(reads(func(req *procmgr.OutputRequest) { req.Wait = min(req.Wait+time.Second, 2*time.Second) })),
		fails: []string{"wait/the longest"}, // the wait has become negative
	},
	{
		name:  "sees what is new alone",
		fault: always(matches(func(out procmgr.Output, req procmgr.OutputRequest) bool { return out.Matched && req.Wait > 0 })),
		fails: []string{"until/what is there already"},
	},
	{
		name: "takes the text for one line",
		fault: always(matches(func(out procmgr.Output, req procmgr.OutputRequest) bool {
			return regexp.MustCompile(req.Until).MatchString(out.Text)
		})),
		fails: []string{"until/line by line", "until/first 4 KiB of a line"},
	},
	{
		name: "sees whole lines alone",
		fault: always(matches(func(out procmgr.Output, _ procmgr.OutputRequest) bool {
			return out.Matched && strings.HasSuffix(out.Text, "\n")
		})),
		fails: []string{"until/the unfinished line"},
	},
	{
		name: "takes a dot for a character",
		fault: always(matches(func(out procmgr.Output, req procmgr.OutputRequest) bool {
			return out.Matched && (req.Until != "." || strings.Trim(out.Text, "\n") != "")
		})),
		fails: []string{"until/any new output"},
	},
	{
		name: "takes the end for a match",
		fault: always(matches(func(out procmgr.Output, _ procmgr.OutputRequest) bool {
			return out.Matched || out.Process.State == procmgr.Exited
		})),
		fails: []string{"until/ends with the process", "wait/after the exit", "until/line by line"},
	},
	{
		name: "never matches at the end",
		fault: always(matches(func(out procmgr.Output, _ procmgr.OutputRequest) bool {
			return out.Matched && out.Process.State != procmgr.Exited
		})),
		fails: []string{"until/ends with the process", "until/line by line", "until/first 4 KiB of a line"},
	},
	{
		name: "looks at what is kept",
		fault: always(fault{output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
			if req.Until == "" || req.From == 0 {
				return m.Output(ctx, id, req)
			}
			_, _ = m.Output(ctx, id, procmgr.OutputRequest{Wait: req.Wait})
			req.Wait = 0
			return m.Output(ctx, id, req)
		}}),
		fails: []string{"until/what is dropped meanwhile", "until/what arrives later"},
		slow:  true,
	},
	{
		name: "waits for the output to reach From",
		fault: always(fault{output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
			out, err := m.Output(ctx, id, procmgr.OutputRequest{From: req.From})
			if err != nil {
				return out, err
			}
			if req.From > out.Next && req.Until != "" {
				req.Until = "no such line"
			}
			return m.Output(ctx, id, req)
		}}),
		fails: []string{"until/beyond the end"},
		slow:  true,
	},
	{
		name: "keeps one pattern for all",
		fault: func(*proclocal.Local) fault {
			var mu sync.Mutex
			pattern := ""
			return fault{output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
				if strings.HasPrefix(req.Until, "^line") {
					mu.Lock()
					if pattern == "" {
						pattern = req.Until
					}
					req.Until = pattern
					mu.Unlock()
				}
				return m.Output(ctx, id, req)
			}}
		},
		fails: []string{"until/several at once"},
		slow:  true,
	},
	{
		name: "takes bad patterns for text",
		fault: always(fault{output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
			out, err := m.Output(ctx, id, req)
			if errors.Is(err, procmgr.ErrInvalid) && req.Until != "" {
				req.Until, req.Wait = "", 0
				return m.Output(ctx, id, req)
			}
			return out, err
		}}),
		fails: []string{"until/refuses"},
	},
	{
		name: "waits for all of it",
		fault: always(fault{
			start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
				end := time.Now().Add(req.Wait)
				out, err := m.Start(ctx, req)
				for err == nil && out.Process.State != procmgr.Exited && time.Now().Before(end) {
					out, err = m.Output(ctx, out.Process.ID, procmgr.OutputRequest{Wait: time.Until(end)})
				}
				return out, err
			},
			output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
				end := time.Now().Add(req.Wait)
				out, err := m.Output(ctx, id, req)
				for err == nil && !out.Matched && out.Process.State != procmgr.Exited && time.Now().Before(end) {
					req.Wait = time.Until(end)
					out, err = m.Output(ctx, id, req)
				}
				return out, err
			},
		}),
		fails: []string{"detached/wait ends", "detached/without the output", "detached/output read meanwhile"},
		slow:  true,
	},
	{
		name: "says that what is detached has exited",
		fault: always(tells(func(p *procmgr.Process) {
			if p.State == procmgr.Detached {
				p.State = procmgr.Exited
			}
		})),
		fails: []string{
			"detached/wait ends", "detached/without the output", "detached/output is still collected",
			"detached/output read meanwhile", "detached/listed", "detached/exit code",
		},
	},
	{
		name: "does not know the exit code of what is detached",
		fault: always(tells(func(p *procmgr.Process) {
			if p.State == procmgr.Detached {
				p.ExitCode = nil
			}
		})),
		fails: []string{"detached/wait ends", "detached/without the output", "detached/listed", "detached/exit code"},
	},
	{
		name: "ends what a shell leaves",
		fault: always(fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
			out, err := m.Start(ctx, req)
			if out.Process.State == procmgr.Detached {
				_ = m.Signal(ctx, out.Process.ID, procmgr.Kill)
			}
			return out, err
		}}),
		fails: []string{"detached/without the output", "detached/listed"},
	},
	{
		name: "loses the output of what is detached",
		fault: always(prints(func(out *procmgr.Output, req procmgr.OutputRequest) {
			if out.Process.State == procmgr.Detached && req.From == 0 {
				out.Text = "left\n"
			}
		})),
		fails: []string{"detached/output is still collected"},
	},
	{
		name: "is detached for ever",
		fault: always(tells(func(p *procmgr.Process) {
			if p.State == procmgr.Exited && strings.Contains(p.Command, "&") {
				p.State, p.ExitedAt = procmgr.Detached, time.Time{}
			}
		})),
		fails: []string{"detached/wait for the rest", "detached/kill"},
		slow:  true,
	},
}
