package procview

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// A Server serves the page of a manager to this machine alone, for a program that has no
// HTTP server of its own.
type Server struct {
	// View is the page: pass its Result to the tools.
	View *View
	// URL is for the person to open. It has the token.
	URL string

	http   *http.Server
	end    context.CancelFunc // ends the streams
	served chan error
}

// Serve serves the page of a manager, as [New] makes it, on an address of the loopback,
// such as "127.0.0.1:0" for a free port, until Close is called. Its streams also end with
// ctx.
func Serve(ctx context.Context, manager procmgr.Manager, address string) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, xerrors.Errorf("procview: serve: %w", err)
	}
	ctx, end := context.WithCancel(ctx)
	view, err := New(manager, &Options{Loopback: true, Context: ctx})
	if err != nil {
		end()
		_ = listener.Close() // nothing was accepted
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/procs/", http.StripPrefix("/procs", view))
	s := &Server{
		View: view, URL: view.URL("http://" + listener.Addr().String() + "/procs/"),
		http: &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute},
		end:  end, served: make(chan error, 1),
	}
	go func() { s.served <- s.http.Serve(listener) }() // Close waits for it
	return s, nil
}

// Close ends the page and its streams, and waits for the server. It is called once.
func (s *Server) Close() error {
	s.end()
	late, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := errors.Join(s.http.Shutdown(late), s.http.Close())
	if failed := <-s.served; !errors.Is(failed, http.ErrServerClosed) {
		err = errors.Join(err, failed)
	}
	if err != nil {
		return xerrors.Errorf("procview: close: %w", err)
	}
	return nil
}
