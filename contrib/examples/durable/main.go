// Command durable is an agent's host that may be killed at any time, together with the
// machine that runs its commands, and still runs no command twice.
//
//	durable manager SOCKET
//	durable host SOCKET DATABASE COMMAND…
//
// The manager runs commands and listens on a Unix socket. The host carries out the calls of
// a model, which is a list of commands here: it stores each call before it carries it
// out, and its result after that. When it is started again with the same database, it
// replays the calls that have no result yet.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

const chat = "chat-1"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 2 && args[0] == "manager":
		err = serve(ctx, args[1])
	case len(args) > 3 && args[0] == "host":
		err = host(ctx, args[1], args[2], args[3:])
	default:
		err = errors.New("usage: durable manager SOCKET | durable host SOCKET DATABASE COMMAND…")
	}
	if err != nil {
		log.Fatal(err)
	}
}

// serve runs the commands of hosts until ctx ends.
func serve(ctx context.Context, socket string) (err error) {
	local, err := proclocal.New(nil)
	if err != nil {
		return err
	}
	// It ends what still runs.
	defer func() { err = errors.Join(err, local.Close()) }()
	// Every caller is let in: the socket is this user's alone.
	handler, err := prochttp.NewHandler(local, &prochttp.HandlerOptions{Insecure: true, Context: ctx})
	if err != nil {
		return err
	}
	listener, err := prochttp.ListenUnix(socket)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { // it returns soon after Serve
		<-ctx.Done()
		_ = server.Shutdown(context.WithoutCancel(ctx))
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// host carries out the calls of a model, one in each message, and prints what has come of
// each command.
func host(ctx context.Context, socket, database string, commands []string) (err error) {
	client, err := prochttp.NewClient("unix:"+socket, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	set, err := toolset.New(toolset.Static(client.Chat(chat)), &toolset.Options{
		// The ID is made of what the database has, so a replay finds the process of
		// the first time.
		ProcessID: func(_ context.Context, c toolset.Call) string { return toolset.StableID(chat, c.ID) },
	})
	if err != nil {
		return err
	}
	calls, err := open(ctx, database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, calls.close()) }()

	for message, command := range commands {
		c, err := calls.begin(ctx, message, command)
		if err != nil {
			return err
		}
		if c.outcome == "" {
			res := set.Call(ctx, c.call)
			if res.IsError {
				log.Print(res.Content)
			}
			if c.outcome, err = outcomeOf(res); err != nil {
				return err
			}
			if err := calls.finish(ctx, message, c.outcome, res.Content); err != nil {
				return err
			}
		}
		fmt.Printf("%s: %s\n", command, c.outcome)
	}
	return nil
}

// outcomeOf says in two words what has come of a call. A model reads Content instead.
func outcomeOf(res toolset.Result) (string, error) {
	r := res.Report
	switch {
	case r.ExitCode != nil:
		return "exit " + strconv.Itoa(*r.ExitCode), nil
	case r.Unknown:
		return "may have run", nil
	case res.IsError && r.ProcessID == "":
		return "never ran", nil
	case r.State == "exited":
		return "exit unknown", nil
	}
	return "", fmt.Errorf("%s still runs: read it with process_output", r.ProcessID)
}

// arguments are the arguments of a call of execute.
func arguments(command string) (json.RawMessage, error) {
	return json.Marshal(map[string]string{"command": command, "timeout": "1m"})
}
