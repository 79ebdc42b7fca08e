package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine is the longest message, in bytes. The tools take arguments of 4 MiB.
const maxLine = 16 << 20

// A pipe is the connection to the client that has started this program: a message on each
// line. It is there in place of the SDK's IOTransport, which ends the session, and with it
// every process, at a line that is no message, and which answers canceled requests.
type pipe struct {
	in   *bufio.Reader
	out  io.Writer
	gone func() // called once nothing more can be read

	mu       sync.Mutex          // guards the writes and requests
	requests map[jsonrpc.ID]bool // those without an answer, and whether they are canceled
}

// newPipe returns a transport for one session.
func newPipe(in io.Reader, out io.Writer, gone func()) *pipe {
	return &pipe{in: bufio.NewReaderSize(in, 64<<10), out: out, gone: gone, requests: make(map[jsonrpc.ID]bool)}
}

// Connect implements [mcp.Transport].
func (p *pipe) Connect(context.Context) (mcp.Connection, error) { return p, nil }

// SessionID implements [mcp.Connection].
func (p *pipe) SessionID() string { return "" }

// Close implements [mcp.Connection]. A Read goes on until the client has gone: then the
// program ends.
func (p *pipe) Close() error { return nil }

// Read implements [mcp.Connection]. It answers lines that are no messages.
func (p *pipe) Read(context.Context) (jsonrpc.Message, error) {
	for {
		line, err := p.line()
		if err != nil {
			p.gone()
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		m, err := jsonrpc.DecodeMessage(line)
		if err != nil || !json.Valid(line) { // the SDK ignores what follows a message
			if err := p.write([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"a line must be one JSON-RPC message, without a BOM, of at most 16 MiB"}}`)); err != nil {
				return nil, err
			}
			continue
		}
		p.note(m)
		return m, nil
	}
}

// line reads a line. It returns the beginning alone of one that is too long.
func (p *pipe) line() (line []byte, err error) {
	for {
		part, err := p.in.ReadSlice('\n')
		line = append(line, part[:min(len(part), maxLine-len(line))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			if len(line) > 0 {
				err = nil // the next one tells
			}
			return line, err
		}
	}
}

// note remembers a request, or that it is canceled.
func (p *pipe) note(m jsonrpc.Message) {
	r, ok := m.(*jsonrpc.Request)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.IsCall() {
		p.requests[r.ID] = false
		return
	}
	var params mcp.CancelledParams
	if r.Method != "notifications/cancelled" || json.Unmarshal(r.Params, &params) != nil {
		return
	}
	id, err := jsonrpc.MakeID(params.RequestID)
	if _, waits := p.requests[id]; err == nil && waits {
		p.requests[id] = true
	}
}

// Write implements [mcp.Connection]. An answer to a canceled request is dropped.
func (p *pipe) Write(_ context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Response); ok {
		p.mu.Lock()
		canceled := p.requests[r.ID]
		delete(p.requests, r.ID)
		p.mu.Unlock()
		if canceled {
			return nil
		}
	}
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	return p.write(data)
}

func (p *pipe) write(message []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.out.Write(append(message, '\n'))
	return err
}

// serveStdio serves the one client that has started this program, until that
// client closes stdin. Then it calls gone before anything else.
func serveStdio(ctx context.Context, s *server, gone func()) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	session, err := s.mcp.Connect(ctx, newPipe(os.Stdin, os.Stdout, func() { gone(); end() }), nil)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }() // ends with stdin, or with the program
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		// Do not call session.Close or session.Wait here. They wait for the
		// running calls, and those wait for their processes, which only
		// Local.Close ends.
		return nil
	}
}
