package prochttp_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// BenchmarkCall measures a start over HTTP on loopback, with a host that answers
// at once: what the wire alone costs.
func BenchmarkCall(b *testing.B) {
	benchmarkCall(b, func(m procmgr.Manager) error {
		_, err := m.Start(b.Context(), procmgr.StartRequest{Command: "true", Wait: long})
		return err
	})
}

// The same with an answer of as much output as one holds by default, in lines of
// 80 bytes.
func BenchmarkCallOutput(b *testing.B) {
	b.SetBytes(headtail.DefaultTextLimit)
	benchmarkCall(b, func(m procmgr.Manager) error {
		_, err := m.Output(b.Context(), "x", procmgr.OutputRequest{})
		return err
	})
}

// The same with a list of 10,000 processes.
func BenchmarkCallList(b *testing.B) {
	benchmarkCall(b, func(m procmgr.Manager) error {
		_, err := m.List(b.Context(), procmgr.ListRequest{})
		return err
	})
}

func benchmarkCall(b *testing.B, call func(procmgr.Manager) error) {
	c := newClient(b, serve(b, newHandler(b, atOnce{}, nil)), &prochttp.ClientOptions{Token: token})
	m := c.Chat("chat-1")
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, call(m))
	}
}

// atOnce is a host whose commands end when they start.
type atOnce struct{ unable }

func (atOnce) Chat(id string) procmgr.Manager { return atOnceChat{chat: id} }

type atOnceChat struct {
	procmgr.Unsupported
	chat string
}

func (m atOnceChat) process(id string) procmgr.Process {
	return procmgr.Process{
		ID: id, ChatID: m.chat, PID: 1, State: procmgr.Exited, ExitCode: new(int), EndedBy: procmgr.CauseExit,
	}
}

func (m atOnceChat) Start(_ context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	return procmgr.Output{Process: m.process(req.ID)}, nil
}

var fullText = strings.Repeat(strings.Repeat("x", 79)+"\n", headtail.DefaultTextLimit/80)

func (m atOnceChat) Output(_ context.Context, id string, _ procmgr.OutputRequest) (procmgr.Output, error) {
	return procmgr.Output{Process: m.process(id), Text: fullText}, nil
}

func (m atOnceChat) List(context.Context, procmgr.ListRequest) (procmgr.ListPage, error) {
	all := make([]procmgr.Process, 10_000)
	for i := range all {
		all[i] = m.process("0123456789")
		all[i].Command, all[i].WorkDir = "go test ./...", "/home/user/project"
		second := int64(len(all) - i) // the newest comes first
		all[i].StartedAt, all[i].ExitedAt = time.Unix(second, 1), time.Unix(second, 2)
	}
	return procmgr.ListPage{Processes: all, Total: len(all)}, nil
}
