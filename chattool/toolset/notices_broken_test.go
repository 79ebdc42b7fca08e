package toolset_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
)

// A simulation that a broken teller passes would show nothing.
func TestNoticesSimulationFails(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		mode   bool
		breaks func(*broken)
		want   string
	}{
		{"nothing is acknowledged", true, func(b *broken) { b.ack = func(mailbox, toolset.Notices) string { return "" } }, "is told twice"},
		{"the cursor is lost", true, func(b *broken) {
			b.ack = func(box mailbox, n toolset.Notices) string { box.Ack(n); return "" }
		}, "is not told"},
		{"a queue of messages", true, func(b *broken) {
			b.pending = func(n toolset.Notices) toolset.Notices {
				if len(b.last.Processes) == 0 {
					b.last = n
				}
				return b.last
			}
			b.ack = func(box mailbox, n toolset.Notices) string {
				b.last = toolset.Notices{}
				return box.Ack(n)
			}
		}, "after a result has shown it"},
		{"a part is lost", true, func(b *broken) {
			b.pending = func(n toolset.Notices) toolset.Notices { return toolset.Notices{} }
		}, "is not told"},
		{"a result repeats itself", false, func(b *broken) {
			b.result = func(r toolset.Report) toolset.Report {
				r.Meanwhile, b.said = append(r.Meanwhile, b.said...), r.Meanwhile
				return r
			}
		}, "is told"},
		{"a result tells of a foreground command", false, func(b *broken) {
			b.result = func(r toolset.Report) toolset.Report {
				for _, p := range r.Processes {
					b.said = append(b.said, p.ID+" (job) exited")
				}
				if r.Processes == nil {
					r.Meanwhile, b.said = append(r.Meanwhile, b.said...), nil
				}
				return r
			}
		}, "is told"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := simulate(1_000, test.mode, func(whole teller) teller {
				b := &broken{teller: whole}
				test.breaks(b)
				return b
			}, 1)
			require.ErrorContains(t, err, test.want)
		})
	}
}

// A broken teller changes what a Set does.
type broken struct {
	teller
	ack     func(box mailbox, n toolset.Notices) string
	pending func(n toolset.Notices) toolset.Notices
	result  func(r toolset.Report) toolset.Report
	last    toolset.Notices
	said    []string
}

func (b *broken) call(ctx context.Context, tool, arguments string) toolset.Report {
	r := b.teller.call(ctx, tool, arguments)
	if b.result != nil {
		r = b.result(r)
	}
	return r
}

func (b *broken) inbox(ctx context.Context, cursor string) mailbox {
	return brokenBox{b.teller.inbox(ctx, cursor), b}
}

type brokenBox struct {
	mailbox
	b *broken
}

func (box brokenBox) Pending(ctx context.Context) (toolset.Notices, error) {
	n, err := box.mailbox.Pending(ctx)
	if box.b.pending != nil {
		n = box.b.pending(n)
	}
	return n, err
}

func (box brokenBox) Ack(n toolset.Notices) string {
	if box.b.ack != nil {
		return box.b.ack(box.mailbox, n)
	}
	return box.mailbox.Ack(n)
}
