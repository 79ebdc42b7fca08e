package main

import (
	"flag"
	"path/filepath"
	"time"

	"golang.org/x/xerrors"
)

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

// flags lets the flags of the program set the options.
func (o *options) flags() {
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

// profileOf is the file for the profile of a child, or "".
func (o options) profileOf(name string) string {
	if o.profile == "" {
		return ""
	}
	return filepath.Join(o.profile, name+".pprof")
}
