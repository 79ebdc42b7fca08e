// Sim is a fleet to measure: many machines, many chats and a few agents on a
// cluster of three NATS servers. While calls run, one server is killed, one
// machine loses its connection, and one agent is killed. It counts how many
// starts ran twice and how many ends were missed, and exits with 1 if there are
// any.
//
//	go run ./sim -machines 50 -chats 500 -rate 100 -time 30s
//
// Most machines are simulated: their processes are timers, and all else is what
// a fleet has. The others run real commands. See docs/fleet.md.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"

	"golang.org/x/xerrors"
)

func main() {
	if err := realMain(); err != nil {
		fmt.Fprintln(os.Stderr, "sim:", err)
		os.Exit(1)
	}
}

func realMain() error {
	if role := os.Getenv(roleVariable); role != "" {
		return runRole(role)
	}
	var o options
	o.flags()
	flag.Parse()
	if err := o.check(); err != nil {
		return err
	}
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "toolproc-sim-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }() // it is a temporary one
		o.dir = dir
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return measure(ctx, o)
}

// runRole is a child, see child.go.
func runRole(role string) error {
	p := &parent{out: os.Stdout, in: os.Stdin}
	config := []byte(os.Getenv(configVariable))
	switch role {
	case "server":
		return asRole(config, p, func(c serverConfig) string { return c.Profile }, runServer)
	case "machines":
		return asRole(config, p, func(c fleetConfig) string { return c.Profile }, runFleet)
	case "agent":
		return asRole(config, p, func(c agentConfig) string { return c.Profile }, runAgent)
	}
	return xerrors.Errorf("no such role: %s", role)
}

// asRole runs a role with its config, and a profile if its config wants one.
func asRole[C any](data []byte, p *parent, profile func(C) string, run func(C, *parent) error) error {
	var c C
	if err := json.Unmarshal(data, &c); err != nil {
		return err
	}
	if path := profile(c); path != "" {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	return run(c, p)
}
