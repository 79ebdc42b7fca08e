package procnats

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"golang.org/x/xerrors"
)

// A Machine is one that [Serve] serves, as it has told of itself.
type Machine struct {
	Name string
	Load Load // when it told
	// Placed is how many chats the [Placer] has placed there since the machine
	// has told its Load. Without it, all chats of a second would go to the one
	// machine that was the least busy before that.
	Placed int
}

const (
	// quiet ends a discovery: so long no further machine has answered.
	quiet = 250 * time.Millisecond
	// discoveryTime is the longest discovery.
	discoveryTime = 3 * time.Second
	// freshTime is how old the list of machines may be before it is asked for
	// anew, and staleTime is how old it may be while somebody does that.
	freshTime = 2 * time.Second
	staleTime = 10 * time.Second
)

// machines asks all machines for their statistics, and returns the ones that answered,
// sorted by name. If two services have the same name, one of them has just been left, as
// Serve refuses a second one, and either counts.
func machines(ctx context.Context, nc *nats.Conn) ([]Machine, error) {
	ctx, cancel := context.WithTimeout(ctx, discoveryTime)
	defer cancel()
	subject, err := micro.ControlSubject(micro.StatsVerb, serviceName, "")
	if err != nil {
		return nil, err
	}
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }() // it fails if the connection has gone
	if err := nc.PublishRequest(subject, inbox, nil); err != nil {
		return nil, err
	}
	var found []Machine
	wait := discoveryTime // for the first one
	for {
		msg, err := next(ctx, sub, wait)
		switch {
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrNoResponders):
			return sorted(found), nil
		case err != nil:
			return nil, err
		}
		if m, ok := machineOf(msg.Data); ok {
			found = append(found, m)
		}
		wait = quiet
	}
}

// next returns the next message, and context.DeadlineExceeded if none came in
// time.
func next(ctx context.Context, sub *nats.Subscription, wait time.Duration) (*nats.Msg, error) {
	one, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return sub.NextMsgWithContext(one)
}

// machineOf reads the answer of one machine.
func machineOf(data []byte) (Machine, bool) {
	var stats micro.Stats
	if err := json.Unmarshal(data, &stats); err != nil {
		return Machine{}, false
	}
	m := Machine{Name: stats.Metadata["host"]}
	for _, endpoint := range stats.Endpoints {
		if endpoint.Name == "calls" && json.Unmarshal(endpoint.Data, &m.Load) != nil {
			return Machine{}, false
		}
	}
	return m, checkName(m.Name) == nil
}

// sorted sorts machines by their names, and leaves one of each name.
func sorted(all []Machine) []Machine {
	slices.SortFunc(all, func(a, b Machine) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(all, func(a, b Machine) bool { return a.Name == b.Name })
}

// A census is the list of machines, which is asked for anew when it is old.
type census struct {
	nc *nats.Conn

	asking chan struct{} // holds a token while somebody asks
	mu     sync.Mutex    // guards the fields below
	list   []Machine
	at     time.Time // zero: never
}

func newCensus(nc *nats.Conn) *census {
	return &census{nc: nc, asking: make(chan struct{}, 1)}
}

// now returns the machines as they were freshTime ago at most, or staleTime ago
// while another call asks them. The caller may change the list.
func (c *census) now(ctx context.Context) ([]Machine, error) {
	list, age := c.last()
	switch {
	case age < freshTime:
		return list, nil
	case age < staleTime:
		select {
		case c.asking <- struct{}{}:
		default:
			return list, nil
		}
	default:
		select {
		case c.asking <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer func() { <-c.asking }()
	if list, age = c.last(); age < freshTime {
		return list, nil // another call has just asked
	}
	list, err := machines(ctx, c.nc)
	if err == nil {
		err = ctx.Err() // or some of them had no time to answer
	}
	if err != nil {
		return nil, xerrors.Errorf("the machines do not tell of themselves: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list, c.at = list, time.Now()
	return slices.Clone(list), nil
}

// last returns a copy of the list, and how old it is.
func (c *census) last() ([]Machine, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() {
		return nil, staleTime
	}
	return slices.Clone(c.list), time.Since(c.at)
}

// placed counts a chat that was placed on a machine.
func (c *census) placed(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.list {
		if c.list[i].Name == name {
			c.list[i].Placed++
			return
		}
	}
}
