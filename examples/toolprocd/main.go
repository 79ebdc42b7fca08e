// Command toolprocd is the far side: it runs commands on the machine on which it
// is, for a client elsewhere. It is one static file:
//
//	CGO_ENABLED=0 go install github.com/toolproc/toolproc/examples/toolprocd@latest
//
// With a way to the machine that carries stdin and stdout, such as ssh or docker
// exec -i, nothing else is needed:
//
//	toolprocd stdio
//
// The client is prochttp.Command("ssh", "-T", "-o", "BatchMode=yes", "build",
// "toolprocd", "stdio"). The commands end with the connection. With a port, or a
// socket, they end with toolprocd:
//
//	toolprocd serve -listen :8443 -tls-cert cert.pem -tls-key key.pem -token-file token
//	toolprocd serve -unix /run/user/1000/toolproc.sock
//
// docs/reach.md shows the ways, and docs/security.md says who is trusted with
// what.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

func main() { os.Exit(toolprocd(os.Args[1:])) }

// toolprocd returns the exit code.
func toolprocd(args []string) int {
	role := ""
	if len(args) > 0 {
		role, args = args[0], args[1:]
	}
	var err error
	switch role {
	case "serve":
		err = serve(args)
	case "stdio":
		err = stdio(args)
	default:
		err = errors.New("usage: toolprocd serve | toolprocd stdio, each with -h")
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "toolprocd:", err)
		return 1
	}
	return 0
}

// stdio serves the one client at the other end of stdin and stdout. Whoever
// could start it may run commands.
func stdio(args []string) error {
	flags := flag.NewFlagSet("stdio", flag.ContinueOnError)
	dir := flags.String("dir", "", "`directory` to run commands in; where it was started")
	if err := parse(flags, args); err != nil {
		return err
	}
	return run(*dir, prochttp.HandlerOptions{Insecure: true}, prochttp.ServeStdio)
}

// parse reads the flags of a role. A role takes no other arguments.
func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return xerrors.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return nil
}

// run runs commands for the clients of a server until the server ends. No
// process that it has started outlives it. Logs go to stderr, because stdout may
// be the connection.
func run(dir string, opts prochttp.HandlerOptions, serve server) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	local, err := procmgr.NewLocal(&procmgr.Options{WorkDir: func() string { return dir }, Logger: log})
	if err != nil {
		return err
	}
	// Last, so that no call starts a process afterwards.
	defer func() { err = errors.Join(err, local.Close()) }()
	opts.Context, opts.Logger = ctx, log // when ctx ends, the waits are answered
	handler, err := prochttp.NewHandler(local, &opts)
	if err != nil {
		return err
	}
	err = serve(ctx, handler)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil // it was asked to end
	}
	return err
}
