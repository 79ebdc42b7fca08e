package proctest_test

import (
	"cmp"
	"context"
	"errors"
	"html"
	"slices"
	"strings"
	"sync"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

var brokenOutputs = []brokenHost{
	{
		name: "shows what is masked",
		fault: always(fault{output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
			out, err := m.Output(ctx, id, req)
			out.MatchedLine = strings.ReplaceAll(out.MatchedLine, "[withheld: PROCTEST_TOKEN]", "k7Qm2Xw9Rt4Vz8Lp1Nc6")
			return out, err
		}}),
		fails: []string{"environment/secrets"},
	},
	{
		name: "does not say that it masks",
		fault: always(fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
			out, err := m.Start(ctx, req)
			out.Redacted = nil
			return out, err
		}, output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
			out, err := m.Output(ctx, id, req)
			out.Redacted = nil
			return out, err
		}}),
		fails: []string{"environment/secrets"},
	},
	{
		name:  "is one byte behind",
		fault: always(prints(func(out *procmgr.Output, _ procmgr.OutputRequest) { out.Next = max(0, out.Next-1) })),
		fails: []string{"start/exit code", "output/pages", "output/next lies between runes", "output/from", "output/invalid bytes"},
	},
	{
		name:  "is one byte ahead",
		fault: always(prints(func(out *procmgr.Output, _ procmgr.OutputRequest) { out.Next++ })),
		fails: []string{"output/pages", "output/next lies between runes", "output/bytes survive", "output/nothing printed", "limit/of Start"},
		slow:  true,
	},
	{
		name:  "counts runes",
		fault: always(reads(func(req *procmgr.OutputRequest) { req.From *= 2 })),
		fails: []string{"output/from"},
	},
	{
		name: "tears runes",
		fault: always(prints(func(out *procmgr.Output, _ procmgr.OutputRequest) {
			if strings.HasSuffix(out.Text, "a") {
				out.Text += "\ufffd"
				out.Next++
			}
		})),
		fails: []string{"output/next lies between runes"},
	},
	{
		name: "refuses what is beyond the end",
		fault: always(fault{output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
			out, err := m.Output(ctx, id, req)
			if err == nil && req.From > out.Next {
				return procmgr.Output{}, procmgr.ErrInvalid
			}
			return out, err
		}}),
		fails: []string{"output/from"},
	},
	{
		name:  "keeps what is before From",
		fault: always(reads(func(req *procmgr.OutputRequest) { req.From = 0 })),
		fails: []string{"output/pages", "output/from", "output/after the exit", "until/before From", "until/any new output", "limit/from an offset"},
	},
	{
		name:  "escapes",
		fault: always(prints(func(out *procmgr.Output, _ procmgr.OutputRequest) { out.Text = html.EscapeString(out.Text) })),
		fails: []string{"output/bytes survive", "command/exactly as given"},
	},
	{
		name: "drops control characters",
		fault: always(prints(func(out *procmgr.Output, _ procmgr.OutputRequest) {
			out.Text = strings.Map(func(r rune) rune {
				if r < ' ' && r != '\n' && r != '\t' {
					return -1
				}
				return r
			}, out.Text)
		})),
		fails: []string{"output/bytes survive"},
	},
	{
		name: "drops invalid bytes",
		fault: always(prints(func(out *procmgr.Output, _ procmgr.OutputRequest) {
			out.Text = strings.ReplaceAll(out.Text, "\ufffd", "")
		})),
		fails: []string{"output/invalid bytes", "output/bytes survive"},
	},
	{
		name: "consumes what is read",
		fault: func(*proclocal.Local) fault {
			var mu sync.Mutex
			read := map[string]int64{}
			return fault{output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
				mu.Lock()
				req.From = max(req.From, read[id])
				mu.Unlock()
				out, err := m.Output(ctx, id, req)
				mu.Lock()
				read[id] = max(out.Next, read[id])
				mu.Unlock()
				return out, err
			}}
		},
		fails: []string{"output/reading consumes nothing", "output/after the exit", "until/what is there already"},
		slow:  true,
	},
	{
		name:  "has no highlights",
		logs:  true,
		fault: always(prints(func(out *procmgr.Output, _ procmgr.OutputRequest) { out.Highlights = nil })),
		fails: []string{"output/highlights"},
	},
	{
		name: "gives highlights in the order of the stream",
		logs: true,
		fault: always(prints(func(out *procmgr.Output, _ procmgr.OutputRequest) {
			slices.SortFunc(out.Highlights, func(a, b procmgr.Highlight) int { return cmp.Compare(a.Offset, b.Offset) })
		})),
		fails: []string{"output/highlights"},
	},
	{
		name: "gives highlights unasked",
		fault: always(prints(func(out *procmgr.Output, _ procmgr.OutputRequest) {
			out.Highlights = append(out.Highlights, procmgr.Highlight{Text: "error"})
		})),
		fails: []string{"output/highlights"},
	},
	{
		name: "takes every output for the same",
		fault: always(prints(func(out *procmgr.Output, _ procmgr.OutputRequest) {
			if out.Changes != nil {
				*out.Changes = procmgr.Changes{Same: true, Lines: out.Changes.Lines}
			}
		})),
		fails: []string{"output/changes"},
	},
	{
		name: "compares with the output of anybody",
		fault: always(prints(func(out *procmgr.Output, req procmgr.OutputRequest) {
			if out.Changes == nil && req.Against != "" {
				out.Changes = &procmgr.Changes{Same: true}
			}
		})),
		fails: []string{"output/changes of another"},
	},
	{
		name: "forgets what has exited",
		fault: always(fault{output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
			out, err := m.Output(ctx, id, req)
			if err == nil && out.Process.State == procmgr.Exited {
				return procmgr.Output{}, procmgr.ErrNotFound
			}
			return out, err
		}}),
		fails: []string{"output/after the exit", "wait/ends at the exit", "wait/after the exit", "start/fields"},
	},
	{
		name: "keeps the output until the exit",
		fault: always(prints(func(out *procmgr.Output, _ procmgr.OutputRequest) {
			if out.Process.State != procmgr.Exited {
				out.Text = ""
			}
		})),
		fails: []string{"output/while it runs", "output/reading consumes nothing", "until/what arrives later", "detached/output is still collected"},
	},
	{
		name: "has cut everything",
		fault: always(prints(func(out *procmgr.Output, _ procmgr.OutputRequest) {
			if out.Truncated == nil {
				out.Truncated = &headtail.Truncation{Strategy: "head_tail"}
			}
		})),
		fails: []string{"output/nothing printed", "limit/what fits is whole", "limit/lines", "start/exit code", "output/pages"},
	},
	{
		name:  "does not say what is missing",
		fault: always(prints(func(out *procmgr.Output, _ procmgr.OutputRequest) { out.Truncated = nil })),
		fails: []string{"limit/by default", "limit/as asked", "limit/lines", "limit/from an offset"},
	},
	{
		name: "does not say where something is missing",
		fault: always(prints(func(out *procmgr.Output, _ procmgr.OutputRequest) {
			if out.Truncated != nil {
				out.Truncated.Cuts = nil
			}
		})),
		fails: []string{"limit/by default", "limit/as asked", "limit/from an offset"},
	},
	{
		name: "counts what is missing wrongly",
		fault: always(prints(func(out *procmgr.Output, _ procmgr.OutputRequest) {
			if out.Truncated != nil {
				out.Truncated.OmittedBytes++
			}
		})),
		fails: []string{"limit/by default", "limit/as asked", "limit/from an offset"},
	},
	{
		name: "counts from the beginning",
		fault: always(prints(func(out *procmgr.Output, _ procmgr.OutputRequest) {
			if t := out.Truncated; t != nil {
				t.OmittedBytes += out.Next - t.OriginalBytes
				t.OriginalBytes = out.Next
			}
		})),
		fails: []string{"limit/from an offset"},
	},
	{
		name: "knows nothing of the unknown",
		fault: always(answers(func(err error) error {
			if errors.Is(err, procmgr.ErrNotFound) {
				return nil
			}
			return err
		})),
		fails: []string{"output/unknown process", "signal/unknown process", "isolation/of other chats", "stop/terminate before the start"},
	},
	{
		name: "drops the tail",
		fault: always(prints(func(out *procmgr.Output, _ procmgr.OutputRequest) {
			out.Text = out.Text[:min(len(out.Text), 16<<10)]
		})),
		fails: []string{"limit/by default", "limit/none", "command/complete at the exit"},
	},
	{
		name: "drops the head",
		fault: always(prints(func(out *procmgr.Output, _ procmgr.OutputRequest) {
			out.Text = out.Text[max(0, len(out.Text)-16<<10):]
		})),
		fails: []string{"limit/by default", "limit/none"},
	},
	{
		name: "cuts twice",
		fault: always(prints(func(out *procmgr.Output, _ procmgr.OutputRequest) {
			if n := len(out.Text); n > 20<<10 {
				out.Text = out.Text[:8<<10] + "\n\n... [omitted 4096 bytes] ...\n\n" + out.Text[12<<10:]
			}
		})),
		fails: []string{"limit/by default", "limit/none"},
	},
	{
		name: "ignores limits",
		fault: always(starts(func(req *procmgr.StartRequest) { req.Limit = headtail.Limits{} }).
			and(reads(func(req *procmgr.OutputRequest) { req.Limit = headtail.Limits{} }))),
		fails: []string{"limit/as asked", "limit/of Start", "limit/lines", "limit/from an offset", "once/labels do not count"},
	},
	{
		name:  "remembers the limit of its start",
		fault: remembersLimit,
		fails: []string{"limit/of Start"},
	},
	{
		name: "takes no limit for a small one",
		fault: always(starts(func(req *procmgr.StartRequest) {
			req.Limit.Bytes = max(req.Limit.Bytes, min(-req.Limit.Bytes*1000, 1000))
		}).
			and(reads(func(req *procmgr.OutputRequest) {
				if req.Limit.Bytes < 0 {
					req.Limit.Bytes = 1000
				}
			}))),
		fails: []string{"limit/none"},
	},
	{
		name:  "does not cut lines",
		fault: always(reads(func(req *procmgr.OutputRequest) { req.Limit.Line = -1 })),
		fails: []string{"limit/lines"},
	},
	{
		name: "adds to what fits",
		fault: always(prints(func(out *procmgr.Output, _ procmgr.OutputRequest) {
			if out.Text != "" && out.Truncated == nil {
				out.Text += "[the end]\n"
			}
		})),
		fails: []string{"limit/what fits is whole", "start/exit code", "output/bytes survive"},
	},
	{
		name:  "shares what it returns",
		fault: sharesProcesses,
		fails: []string{"concurrent/the caller's to change"},
	},
	{
		name:  "mixes up its callers",
		fault: mixesUp,
		fails: []string{"concurrent/many callers"},
	},
}

// remembersLimit bounds every read by the limit of the start.
func remembersLimit(*proclocal.Local) fault {
	var limits sync.Map
	return fault{
		start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
			out, err := m.Start(ctx, req)
			limits.Store(out.Process.ID, req.Limit)
			return out, err
		},
		output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
			if limit, ok := limits.Load(id); ok {
				req.Limit = limit.(headtail.Limits)
			}
			return m.Output(ctx, id, req)
		},
	}
}

// sharesProcesses returns the same pointers to every caller.
func sharesProcesses(*proclocal.Local) fault {
	var mu sync.Mutex
	codes := map[string]*int{}
	return tells(func(p *procmgr.Process) {
		mu.Lock()
		defer mu.Unlock()
		if p.ExitCode == nil {
			return
		}
		if codes[p.ID] == nil {
			codes[p.ID] = p.ExitCode
		}
		p.ExitCode = codes[p.ID]
	})
}

// mixesUp gives each reader the answer that was meant for the reader before.
func mixesUp(*proclocal.Local) fault {
	var mu sync.Mutex
	var last procmgr.Output
	return fault{output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
		out, err := m.Output(ctx, id, req)
		mu.Lock()
		defer mu.Unlock()
		out, last = last, out
		return out, err
	}}
}
