package main

import (
	"context"
	"errors"
	"net/http"

	"github.com/toolproc/toolproc/contrib/filetool/filehttp"
	"github.com/toolproc/toolproc/contrib/filetool/procfile"
	"github.com/toolproc/toolproc/internal/service"
	"github.com/toolproc/toolproc/procmgr"
)

// withFiles is a server that serves the files of this machine beside the processes, to the
// same callers. Relative paths begin in the current directory. The rules of a sandbox hold
// for files as for commands; nil is none.
func withFiles(rules *procmgr.SandboxRules, opts filehttp.HandlerOptions, serve service.Server) service.Server {
	return func(ctx context.Context, processes http.Handler) (err error) {
		local, err := procfile.NewLocal(&procfile.LocalOptions{Sandbox: rules})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, local.Close()) }()
		files, err := filehttp.NewHandler(local, &opts)
		if err != nil {
			return err
		}
		mux := http.NewServeMux()
		mux.Handle("/", processes)
		for _, path := range []string{"/read", "/write", "/edit"} {
			mux.Handle(path, files)
		}
		return serve(ctx, mux)
	}
}
