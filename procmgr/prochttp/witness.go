package prochttp

import (
	"context"
	"net"
	"net/http/httptrace"
	"sync/atomic"
)

// A witness is a connection to a unix socket that notes what becomes of a request.
// A handler does nothing before it has read a request to its end, so a request that
// was not written or not read to its end has done nothing.
type witness struct {
	net.Conn
	written atomic.Int64 // bytes
	cut     atomic.Bool  // the other end was closed with something unwritten or unread
}

func dialWitness(ctx context.Context, path string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	return &witness{Conn: conn}, nil
}

func (w *witness) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if isUnread(err) {
		w.cut.Store(true)
	}
	return n, err
}

func (w *witness) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	w.written.Add(int64(n))
	if err != nil {
		w.cut.Store(true)
	}
	return n, err
}

// A sending tells whether the server may have seen an attempt.
type sending struct {
	trace      httptrace.ClientTrace
	asked, got atomic.Bool             // the transport has asked for a connection, and got one
	on         atomic.Pointer[witness] // the last connection that it got; nil: nobody notes what became of it
	before     atomic.Int64            // the bytes that were written to it for earlier requests
}

// traced returns a context with which a transport reports its connections.
func (s *sending) traced(ctx context.Context) context.Context {
	s.trace.GetConn = func(string) { s.asked.Store(true) }
	s.trace.GotConn = func(info httptrace.GotConnInfo) {
		s.got.Store(true)
		w, _ := info.Conn.(*witness)
		if w != nil {
			s.before.Store(w.written.Load())
		}
		s.on.Store(w)
	}
	return httptrace.WithClientTrace(ctx, &s.trace)
}

// sent reports whether the server may have seen the whole attempt. A transport that
// is not the client's own may not report its connections. The client then assumes
// that it has sent the request.
//
// The client's own transport takes another connection only if it has written nothing
// to the one before it, so what the last witness saw holds for the attempt.
func (s *sending) sent(c *Client) bool {
	if w := s.on.Load(); w != nil && (w.cut.Load() || w.written.Load() == s.before.Load()) {
		return false
	}
	return s.got.Load() || c.dialed != nil || c.own == nil && !s.asked.Load()
}
