package main

import (
	"context"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/procnats"
)

// burstTime is in the middle of a burst.
const burstTime = 10 * time.Millisecond

// When what happens, in parts of the whole time. The quiet part is when nothing
// does: there the costs of a call are measured.
const (
	quietBegin    = 0.05
	serverDies    = 0.20
	serverBack    = 0.35
	machineIsCut  = 0.45
	machineIsBack = 0.65
	agentDies     = 0.75
	agentBack     = 0.80
)

// faults are what goes wrong.
func (s *simulation) faults() []act {
	var node int
	cut := machineName(s.Real)
	last := len(s.agents) - 1
	var answers chan error
	return []act{
		{serverDies, "a server is killed", func(ctx context.Context) error {
			var err error
			node, err = s.leader(ctx)
			s.nodes[node].kill()
			return err
		}},
		{serverBack, "the server is back", func(context.Context) (err error) {
			s.nodes[node], err = s.startServer(node)
			return err
		}},
		{machineIsCut, "a machine is cut off", func(ctx context.Context) error {
			if err := s.burst(0, cut); err != nil {
				return err
			}
			return s.fleet.ask(ctx, "shut "+cut, nil)
		}},
		{machineIsBack, "the machine is back", func(ctx context.Context) error {
			began := time.Now()
			answers = make(chan error, 1)
			go func() { // the end of the run waits for it
				var at time.Time
				err := s.agents[0].ask(ctx, "probe "+cut, &at)
				s.result.Recovery.Machine = at.Sub(began).Seconds()
				answers <- err
			}()
			return s.fleet.ask(ctx, "let "+cut, nil)
		}},
		{agentDies, "an agent is killed", func(context.Context) error {
			err := s.burst(last, "")
			s.agents[last].kill()
			return err
		}},
		{agentBack, "the agent is back", func(ctx context.Context) error {
			began := time.Now()
			pending := s.log.pending(s.agents[last].name)
			s.result.Recovery.Pending = len(pending)
			a, err := s.startAgent(last, append([]string{}, pending...))
			if err != nil {
				return err
			}
			s.agents[last] = a
			ctx, cancel := context.WithTimeout(ctx, startTime)
			defer cancel()
			if err := a.await(ctx); err != nil {
				return err
			}
			s.result.Recovery.Agent = time.Since(began).Seconds()
			return a.ask(ctx, "go", nil)
		}},
		{1, "", func(ctx context.Context) error {
			select {
			case err := <-answers:
				return err
			case <-time.After(startTime):
				return xerrors.New("the machine that was cut off does not come back")
			case <-ctx.Done():
				return ctx.Err()
			}
		}},
	}
}

// burst has an agent send many starts, to one machine or to any, and returns
// when these are on their way: so what goes wrong next meets some of them.
func (s *simulation) burst(agent int, name string) error {
	if err := s.agents[agent].order("burst " + name); err != nil {
		return err
	}
	time.Sleep(burstTime)
	return nil
}

// leader returns the server that leads the stream of the ends.
func (s *simulation) leader(ctx context.Context) (int, error) {
	for i, c := range s.nodes {
		var leads bool
		if err := c.ask(ctx, "leads "+procnats.EndsConfig().Name, &leads); err != nil {
			return 0, err
		}
		if leads {
			return i, nil
		}
	}
	return 0, nil // there is just an election
}
