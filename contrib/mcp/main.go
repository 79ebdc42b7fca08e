// Command mcp gives the four tools of toolproc to any client of the Model
// Context Protocol, over stdio or over streamable HTTP.
//
//	mcp                         # started by a client, which talks to it over stdio
//	mcp -http :8080             # a server for several clients on this machine
//
// Each MCP session is a chat of its own. It sees only the processes that it has
// started, and they end with it. With -keep DIRECTORY, the processes of a session over
// stdio go on, and the next session has the same chat. README.md says how to add the
// server to a client.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/procmgr/prockeep"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// maxWait is the longest wait of a call by default. Many clients give up on a
// call after a minute and cancel it, which stops its command. A wait that ends
// earlier loses nothing, and the result says how to go on.
const maxWait = 50 * time.Second

// stopGrace is the time between terminate and kill if a session or this program
// ends. Clients close stdin, send SIGTERM 2 s later and SIGKILL after 2 s more.
// After that, this program cannot clean up.
const stopGrace = time.Second

func main() {
	prockeep.Main() // this program is also the keeper of -keep
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mcp:", err)
		os.Exit(1)
	}
}

// run serves until the client is gone or a signal comes. No process that it has
// started outlives it. Stdout belongs to the protocol, so messages for people
// go to stderr.
func run(args []string) (err error) {
	flags := flag.NewFlagSet("mcp", flag.ExitOnError)
	var (
		listen    = flags.String("http", "", "`address` to serve streamable HTTP on, instead of stdio; :8080 is port 8080 of 127.0.0.1")
		tokenFile = flags.String("token-file", "", "`file` with the bearer token for -http; by default a new one is printed")
		idle      = flags.Duration("idle", 4*time.Hour, "end a session over HTTP that has asked for nothing for this long; 0 is never")
		workDir   = flags.String("workdir", ".", "`directory` to run commands in")
		logDir    = flags.String("log-dir", "", "`directory` for the whole output of each command")
		wait      = flags.Duration("max-wait", maxWait, "the longest wait of a call; longer than the client's patience, and it cancels the call, which stops the command")
		keep      = flags.String("keep", "", "`directory` of a keeper, in which commands outlive the session over stdio, and the next one finds them")
		answers   = flags.Bool("input", false, "let the model answer questions of commands, and use programs at a terminal")
		ask       = flags.Bool("ask", false, "ask the user, through the client, before a command that does more than read; if the client cannot ask, such a command is denied")
		diffs     = flags.Bool("diffs", false, "answer a command that runs again with a diff against its last output; only for a client that never compacts a conversation, since the model then no longer has that output")
		format    = flags.String("format", "json", "`form` of a result: json, or text, which takes fewer tokens")
		allowEnv  = flags.String("allow-env", "", "`names` of variables that commands get although they look like secrets, such as GITHUB_TOKEN,NPM_*")
	)
	_ = flags.Parse(args) // it ends the program if it fails
	if flags.NArg() > 0 {
		return xerrors.Errorf("unexpected argument %q", flags.Arg(0))
	}
	// The protocol does not tell a server that a conversation was compacted.
	opts := toolset.Options{MaxTimeout: *wait, Input: *answers, Whole: !*diffs}
	if *ask {
		opts.Approve = approve
	}
	switch *format {
	case "json":
	case "text":
		opts.Format = toolset.FormatText
	default:
		return xerrors.Errorf("there is no format %q; there are json and text", *format)
	}
	if *keep != "" && *listen != "" {
		return errors.New("-keep is for stdio: over HTTP, nothing tells which client has come back")
	}
	dir, err := filepath.Abs(*workDir)
	if err != nil {
		return err
	}
	// Unhandled, these signals end the program at once, without the deferred Close, and
	// leave its processes behind.
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
	if *listen == "" {
		signals = append(signals, syscall.SIGPIPE) // the only client is gone
	} else {
		// A line for a stderr that is gone must not end the program.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))

	options := proclocal.Options{
		Env:       envpolicy.Policy{Allow: strings.Split(*allowEnv, ",")}, // "" matches no name
		LogDir:    *logDir,
		StopGrace: stopGrace,
	}
	if *keep != "" {
		return serveKept(ctx, *keep, dir, options, opts, log)
	}
	options.WorkDir, options.Logger = dir, log
	local, err := proclocal.New(&options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, local.Close()) }() // ends the processes that still run

	if *listen == "" {
		s, err := newServerWith(local, stdioChat, opts, log)
		if err != nil {
			return err
		}
		s.dir = dir
		return serveStdio(ctx, s, func() {})
	}
	token, err := tokenFrom(*tokenFile)
	if err != nil {
		return err
	}
	s, err := newServerWith(local, httpChat, opts, log)
	if err != nil {
		return err
	}
	s.dir = dir
	return serveHTTP(ctx, s, local, *listen, token, *idle)
}
