package service

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procview"
)

// A ViewFlag is the value of a flag -view: "" without it, an address of the loopback
// with a free port for -view alone, and the address of -view=ADDRESS.
type ViewFlag string

// String implements [flag.Value].
func (v *ViewFlag) String() string { return string(*v) }

// Set implements [flag.Value].
func (v *ViewFlag) Set(s string) error {
	switch s {
	case "true":
		s = "127.0.0.1:0"
	case "false":
		s = ""
	}
	*v = ViewFlag(s)
	return nil
}

// IsBoolFlag lets the flag stand without a value.
func (v *ViewFlag) IsBoolFlag() bool { return true }

// Open serves the page of a manager on the flag's address, for this machine alone, until
// stop is called, which waits for the server. url is for the person to open. Without the
// flag, view is nil and nothing is served.
func (v *ViewFlag) Open(ctx context.Context, manager procmgr.Host) (view *procview.View, url string, stop func() error, err error) {
	if *v == "" {
		return nil, "", func() error { return nil }, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	if view, err = procview.New(manager, &procview.Options{Loopback: true, Context: ctx}); err != nil {
		cancel()
		return nil, "", nil, err
	}
	listener, err := net.Listen("tcp", string(*v))
	if err != nil {
		cancel()
		return nil, "", nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/procs/", http.StripPrefix("/procs", view))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }() // stop waits for it
	stop = func() error {
		cancel() // ends the streams
		late, end := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer end()
		err := errors.Join(server.Shutdown(late), server.Close())
		if failed := <-served; !errors.Is(failed, http.ErrServerClosed) {
			err = errors.Join(err, failed)
		}
		return err
	}
	return view, view.URL("http://" + listener.Addr().String() + "/procs/"), stop, nil
}
