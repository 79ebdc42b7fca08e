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
	"path/filepath"
	"runtime/pprof"
	"time"

	"golang.org/x/xerrors"
)

func main() {
	if err := realMain(); err != nil {
		fmt.Fprintln(os.Stderr, "sim:", err)
		os.Exit(1)
	}
}

// An options is what the flags say.
type options struct {
	Machines int           `json:"machines"`
	Real     int           `json:"real"`
	Chats    int           `json:"chats"`
	Agents   int           `json:"agents"`
	Rate     float64       `json:"rate"`
	Time     time.Duration `json:"time"`
	Faults   bool          `json:"faults"`
	Ends     bool          `json:"ends"`
	dir      string
	json     string
	svg      string
	profile  string
}

func realMain() error {
	if role := os.Getenv(roleVariable); role != "" {
		return runRole(role)
	}
	var o options
	flag.IntVar(&o.Machines, "machines", 1000, "machines of the fleet")
	flag.IntVar(&o.Real, "real", 50, "how many of the machines run real commands")
	flag.IntVar(&o.Chats, "chats", 20000, "chats")
	flag.IntVar(&o.Agents, "agents", 2, "agents, which share the chats")
	flag.Float64Var(&o.Rate, "rate", 2000, "calls in a second, of all agents")
	flag.DurationVar(&o.Time, "time", time.Minute, "how long to call")
	flag.BoolVar(&o.Faults, "faults", true, "kill a server, cut a machine off, kill an agent")
	flag.BoolVar(&o.Ends, "ends", true, "publish and read the ends; without, none can be missed")
	flag.StringVar(&o.dir, "dir", "", "a directory for what the servers keep; a temporary one by default")
	flag.StringVar(&o.json, "json", "", "write the result to this file")
	flag.StringVar(&o.svg, "svg", "", "draw the run into this file")
	flag.StringVar(&o.profile, "profile", "", "write a CPU profile of each process into this directory")
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

func (o options) check() error {
	switch {
	case flag.NArg() > 0:
		return xerrors.Errorf("no arguments are known, and there is %q", flag.Arg(0))
	case o.Machines < 2 || o.Real < 0 || o.Real >= o.Machines:
		return xerrors.New("there must be two machines or more, and not all of them real")
	case o.Agents < 1 || o.Chats < o.Agents:
		return xerrors.New("there must be an agent or more, and a chat for each")
	case o.Rate <= 0 || o.Time < 5*time.Second:
		return xerrors.New("there must be calls, for 5 s or more")
	}
	return nil
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

// profileOf is the file for the profile of a child, or "".
func (o options) profileOf(name string) string {
	if o.profile == "" {
		return ""
	}
	return filepath.Join(o.profile, name+".pprof")
}
