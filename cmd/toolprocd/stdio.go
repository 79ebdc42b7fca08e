package main

import (
	"errors"
	"flag"
	"log/slog"
	"net/http"
	"os"

	"github.com/toolproc/toolproc/contrib/filetool/filehttp"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// stdio serves the one client at the other end of stdin and stdout. There is no further
// authentication: a client that can start it may run commands. It passes all requests
// on to the keeper, so after the connection was cut, the next stdio is the same server
// to the client. It reads and writes files itself: if the cut loses the answer to a
// write, it is unknown whether the write was done.
//
// A command starts with the environment and in the directory of this program, which are
// what ssh or docker exec give to a command. They are not part of what an ID stands
// for, so they may differ when the client comes back.
func stdio(flags *flag.FlagSet, args []string) (err error) {
	at, rules := placeFlags(flags), ruleFlags(flags)
	if _, err := parse(flags, args, 0, 0); err != nil {
		return err
	}
	if isTerminal(os.Stdin) || isTerminal(os.Stdout) {
		return errors.New("this is for a client, as in prochttp.Command(\"ssh\", \"-T\", \"build\", \"toolprocd\", \"stdio\"), and here is a terminal: leave out -t of ssh, docker or kubectl")
	}
	ctx, stop := untilAsked()
	defer stop()
	open := filehttp.HandlerOptions{Insecure: true}
	k, err := at.open(ctx, warnings(), rules, false)
	switch {
	case errors.Is(err, errors.ErrUnsupported) && !rules.asked():
		return withLocal(ctx, prochttp.HandlerOptions{Insecure: true, Logger: warnings()}, nil, func(_ *proclocal.Local, processes http.Handler) error {
			return withFiles(nil, open, prochttp.ServeStdio)(ctx, processes)
		})
	case err != nil:
		return err
	}
	defer func() { err = errors.Join(err, k.Close()) }()
	machine, err := k.Describe(ctx) // the keeper may have a sandbox for which this stdio hasn't asked
	if err != nil {
		return err
	}
	return unasked(ctx, withFiles(machine.Sandbox, open, prochttp.ServeStdio)(ctx, k.Handler()))
}

// warnings logs to stderr, because stdout may be the connection. A client quotes
// it if the connection fails.
func warnings() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// isTerminal reports whether a person is at the other end of a file.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
