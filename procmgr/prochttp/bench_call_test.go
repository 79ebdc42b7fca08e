package prochttp_test

import (
	"context"
	"testing"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// BenchmarkCall measures a start over HTTP on loopback, with a host that answers
// at once: what the wire alone costs.
func BenchmarkCall(b *testing.B) {
	handler := newHandler(b, atOnce{}, nil)
	c := newClient(b, serve(b, handler), &prochttp.ClientOptions{Token: token})
	m := c.Chat("chat-1")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Start(b.Context(), procmgr.StartRequest{Command: "true", Wait: long}); err != nil {
			b.Fatal(err)
		}
	}
}

// atOnce is a host whose commands end when they start.
type atOnce struct{ procmgr.Host }

func (atOnce) Chat(id string) procmgr.Manager { return atOnceChat{chat: id} }

type atOnceChat struct {
	procmgr.Manager
	chat string
}

func (m atOnceChat) Start(_ context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	return procmgr.Output{Process: procmgr.Process{
		ID: req.ID, ChatID: m.chat, PID: 1, State: procmgr.Exited, ExitCode: new(int), EndedBy: procmgr.CauseExit,
	}}, nil
}
