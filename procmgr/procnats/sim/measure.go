package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"golang.org/x/xerrors"
)

const (
	// startTime is how long the fleet may take to start, and drainTime how long
	// all ends may take to be read after the last call.
	startTime = 3 * time.Minute
	drainTime = 2 * time.Minute
)

// A simulation is the parent's view.
type simulation struct {
	options
	log     *ledger
	servers []serverConfig
	nodes   []*child
	fleet   *child
	agents  []*child
	result  result
	began   time.Time // of the calls
}

// measure runs the simulation.
func measure(ctx context.Context, o options) error {
	s := &simulation{options: o, log: newLedger()}
	s.result.Options, s.result.Go, s.result.CPUs = o, runtime.Version(), runtime.NumCPU()
	defer s.close()
	if err := s.start(ctx); err != nil {
		return err
	}
	fmt.Printf("%d machines, %d bytes for each; %d servers, %d agents\n", o.Machines, s.result.Memory.Machine, servers, o.Agents)
	if err := s.place(ctx); err != nil {
		return err
	}
	if err := s.run(ctx); err != nil {
		return err
	}
	if err := s.drain(ctx); err != nil {
		return err
	}
	s.finish()
	fmt.Print(s.result.table())
	if o.json != "" {
		data, err := json.MarshalIndent(s.result, "", "\t")
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.json, append(data, '\n'), 0o644); err != nil {
			return err
		}
	}
	if o.svg != "" {
		if err := os.WriteFile(o.svg, []byte(s.result.plot()), 0o644); err != nil {
			return err
		}
	}
	if s.result.Calls == 0 {
		return xerrors.New("no call was answered")
	}
	if s.result.Counts.failed() {
		return xerrors.New("a start ran twice or was lost, or an end was missed")
	}
	return nil
}

// start starts the servers, the machines and the agents.
func (s *simulation) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if err := s.startServers(ctx); err != nil {
		return err
	}
	var err error
	s.fleet, err = startChild("machines", "machines", fleetConfig{
		Servers: s.urls(), Machines: s.Machines, Real: s.Real, Ends: s.Ends, Dir: s.dir, Profile: s.profileOf("machines"),
	}, func(word, rest string) {
		if word == "memory" {
			_ = json.Unmarshal([]byte(rest), &s.result.Memory.Machine) // a figure alone
		}
	})
	if err != nil {
		return err
	}
	if err := s.fleet.await(ctx); err != nil {
		return err
	}
	for i := range s.Agents {
		a, err := s.startAgent(i, nil)
		if err != nil {
			return err
		}
		s.agents = append(s.agents, a)
	}
	for _, a := range s.agents {
		if err := a.await(ctx); err != nil {
			return err
		}
	}
	return nil
}

// urls are those of all servers.
func (s *simulation) urls() []string {
	var urls []string
	for _, c := range s.servers {
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", c.Port))
	}
	return urls
}

// startServers starts the cluster, and waits until it is one.
func (s *simulation) startServers(ctx context.Context) error {
	ports, err := freePorts(2 * servers)
	if err != nil {
		return err
	}
	for i := range servers {
		name := fmt.Sprintf("server%d", i+1)
		s.servers = append(s.servers, serverConfig{
			Name: name, Port: ports[i], Route: ports[servers+i], Routes: ports[servers:],
			Dir: filepath.Join(s.dir, name), Profile: s.profileOf(name),
		})
	}
	for i := range s.servers {
		c, err := s.startServer(i)
		if err != nil {
			return err
		}
		s.nodes = append(s.nodes, c)
	}
	for _, c := range s.nodes {
		if err := s.healthy(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (s *simulation) startServer(i int) (*child, error) {
	return startChild(s.servers[i].Name, "server", s.servers[i], func(string, string) {})
}

// healthy waits until a server is a part of the cluster.
func (s *simulation) healthy(ctx context.Context, c *child) error {
	if err := c.await(ctx); err != nil {
		return err
	}
	for {
		var ok bool
		if err := c.ask(ctx, "healthy", &ok); err != nil || ok {
			return err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// freePorts returns ports that are free now.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // after all: so they differ
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// startAgent starts an agent, or the successor of one.
func (s *simulation) startAgent(i int, pending []string) (*child, error) {
	name := fmt.Sprintf("agent%d", i+1)
	each := s.Chats / s.Agents
	profile := name
	if pending != nil {
		profile += "-again"
	}
	return startChild(name, "agent", agentConfig{
		Name: name, Servers: s.urls(), First: i * each, Last: (i + 1) * each,
		Rate: s.Rate / float64(s.Agents), Ends: s.Ends, Dir: s.dir, Pending: pending, Profile: s.profileOf(profile),
	}, func(word, rest string) { s.log.hear(name, word, rest) })
}

// An act is something that happens at a part of the time.
type act struct {
	at   float64
	name string // in the plot; "" for none
	do   func(context.Context) error
}

// place lets all agents place their chats at the same time.
func (s *simulation) place(ctx context.Context) error {
	began := time.Now()
	errs := make(chan error, len(s.agents))
	for _, a := range s.agents {
		go func() { errs <- a.ask(ctx, "place", nil) }() // place waits for it
	}
	var failed error
	for range s.agents {
		failed = cmp.Or(<-errs, failed)
	}
	s.result.Placing = time.Since(began).Seconds()
	fmt.Printf("%d chats placed in %.1f s\n", s.Chats, s.result.Placing)
	return failed
}

// run lets the agents call, and does what is to happen.
func (s *simulation) run(ctx context.Context) error {
	for _, a := range s.agents {
		if err := a.ask(ctx, "go", nil); err != nil {
			return err
		}
	}
	s.began = time.Now()
	var before, after sample
	acts := []act{
		{quietBegin, "", func(ctx context.Context) (err error) {
			before, err = s.sample(ctx)
			return err
		}},
		{serverDies - 0.001, "", func(ctx context.Context) (err error) {
			after, err = s.sample(ctx)
			s.result.quiet(before, after)
			return err
		}},
		{1, "", func(context.Context) error { return nil }},
	}
	if s.Faults {
		acts = append(acts, s.faults()...)
	}
	slices.SortStableFunc(acts, func(a, b act) int { return cmp.Compare(a.at, b.at) })
	for _, a := range acts {
		select {
		case <-time.After(time.Until(s.began.Add(time.Duration(a.at * float64(s.Time))))):
		case <-ctx.Done():
			return ctx.Err()
		}
		if a.name != "" {
			s.result.Faults = append(s.result.Faults, fault{At: time.Since(s.began).Seconds(), What: a.name})
			fmt.Printf("%6.1f s: %s\n", time.Since(s.began).Seconds(), a.name)
		}
		if err := a.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *simulation) sample(ctx context.Context) (sample, error) {
	now := sample{at: time.Now(), load: busy()}
	for _, c := range s.nodes {
		var t serverTraffic
		if err := c.ask(ctx, "stats", &t); err != nil {
			return now, err
		}
		now.servers = append(now.servers, t)
	}
	if err := s.fleet.ask(ctx, "stats", &now.machines); err != nil {
		return now, err
	}
	for _, c := range s.agents {
		var t fleetTraffic
		if err := c.ask(ctx, "stats", &t); err != nil {
			return now, err
		}
		now.agents = append(now.agents, t)
	}
	return now, nil
}

// drain waits for the calls that are left, and then for the ends.
func (s *simulation) drain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime+drainTime)
	defer cancel()
	for _, a := range s.agents {
		if err := a.ask(ctx, "stop", nil); err != nil {
			return err
		}
	}
	s.result.Stopped = time.Since(s.began).Seconds()
	last, err := s.sample(ctx)
	if err != nil {
		return err
	}
	s.result.end(last)
	path := filepath.Join(s.dir, "happened.json")
	if err := s.fleet.ask(ctx, "count "+path, nil); err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var happened map[string]ran
	if err := json.Unmarshal(data, &happened); err != nil {
		return err
	}
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		s.result.Counts = s.log.compare(happened)
		if !s.Ends {
			s.result.Counts.Missed = 0
		}
		if s.result.Counts.Missed == 0 || time.Since(began) > drainTime || ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// finish computes what is left of the result.
func (s *simulation) finish() {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.result.points(s.began, s.log.ticks)
}

// close ends all processes: the callers first.
func (s *simulation) close() {
	for _, c := range s.agents {
		c.close()
	}
	if s.fleet != nil {
		s.fleet.close()
	}
	for _, c := range s.nodes {
		c.close()
	}
}
