package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/proclocal"
	"github.com/toolproc/toolproc/procmgr/procnats"
)

// A fleetConfig is that of the process with all machines.
type fleetConfig struct {
	Servers  []string
	Machines int
	Real     int // of them have a proclocal.Local; they come first
	Ends     bool
	Dir      string
	Profile  string
}

// statsTime is how long all machines have to tell what they have sent.
const statsTime = 5 * time.Second

// A machine is one of the fleet.
type machine struct {
	gate    *gate
	nc      *nats.Conn
	service *procnats.Service
	host    procmgr.Host
	real    *proclocal.Local // the same as host, or nil
}

// A fleet is all machines.
type fleet struct {
	config   fleetConfig
	begun    *begun
	machines map[string]*machine
}

func machineName(i int) string { return fmt.Sprintf("m%04d", i) }

// runsFile has a line for each command that a real machine has begun, with its
// chat and its ID.
func (c fleetConfig) runsFile() string { return filepath.Join(c.Dir, "runs") }

// runFleet is all machines, until stdin ends.
func runFleet(c fleetConfig, p *parent) error {
	f := &fleet{config: c, begun: newBegun(), machines: make(map[string]*machine)}
	if err := createStream(c); err != nil {
		return xerrors.Errorf("the stream of ends: %w", err)
	}
	before := usageNow()
	if err := f.start(); err != nil {
		return err
	}
	defer f.close()
	after := usageNow()
	p.say("memory", (after.RSS-before.RSS)/int64(c.Machines))
	p.say("ready", nil)
	of := func(name string, do func(*machine)) (any, error) {
		m := f.machines[name]
		if m == nil {
			return nil, xerrors.New("no such machine")
		}
		do(m)
		return nil, nil
	}
	return p.serve(map[string]func(string) (any, error){
		"stats": func(string) (any, error) { return f.traffic(), nil },
		"shut":  func(name string) (any, error) { return of(name, func(m *machine) { m.gate.shut() }) },
		"let":   func(name string) (any, error) { return of(name, func(m *machine) { m.gate.let() }) },
		"count": func(path string) (any, error) { return f.count(path) },
	})
}

// createStream creates the stream of ends, on all servers.
func createStream(c fleetConfig) error {
	nc, err := connect(c.Servers, "admin")
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	stream := procnats.EndsConfig()
	stream.Replicas = servers
	for range 10 { // the servers may still elect one
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		_, err = js.CreateOrUpdateStream(ctx, stream)
		cancel()
		if err == nil {
			break
		}
	}
	return err
}

// start starts all machines, some at a time.
func (f *fleet) start() error {
	const atOnce = 16
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex // guards first and the machines
		first error
		todo  = make(chan int)
	)
	for range atOnce {
		wg.Go(func() {
			for i := range todo {
				m, err := f.startOne(i)
				mu.Lock()
				if err == nil {
					f.machines[machineName(i)] = m
				} else if first == nil {
					first = xerrors.Errorf("%s: %w", machineName(i), err)
				}
				mu.Unlock()
			}
		})
	}
	for i := range f.config.Machines {
		todo <- i
	}
	close(todo)
	wg.Wait()
	return first
}

// startOne starts a machine.
func (f *fleet) startOne(i int) (*machine, error) {
	m := &machine{gate: newGate()}
	if i < f.config.Real {
		local, err := proclocal.New(nil)
		if err != nil {
			return nil, err
		}
		m.host, m.real = local, local
	} else {
		m.host = newSimulated(f.begun)
	}
	handler, err := prochttp.NewHandler(m.host, &prochttp.HandlerOptions{Insecure: true})
	if err != nil {
		return nil, err
	}
	if m.nc, err = connect(f.config.Servers, machineName(i), nats.SetCustomDialer(m.gate)); err != nil {
		return nil, err
	}
	m.service, err = procnats.Serve(context.Background(), m.nc, machineName(i), handler, &procnats.Options{Host: m.host, Ends: f.config.Ends})
	return m, err
}

// connect connects a machine or an agent, as docs/fleet.md has it.
func connect(servers []string, name string, more ...nats.Option) (*nats.Conn, error) {
	return nats.Connect(strings.Join(servers, ","), append([]nats.Option{
		nats.Name(name),
		nats.CustomInboxPrefix("_INBOX_" + name),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(250*time.Millisecond, 0),
		nats.PingInterval(2 * time.Second),
		nats.MaxPingsOutstanding(3),
		nats.Timeout(dialTime),
		nats.RetryOnFailedConnect(true),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // what comes of it is counted
	}, more...)...)
}

// A fleetTraffic is what the machines have sent and got.
type fleetTraffic struct {
	InMsgs, OutMsgs, InBytes, OutBytes uint64
	Usage                              usage
}

// traffic adds up all machines. It waits statsTime for them: a connection that
// is stuck in a write does not tell.
func (f *fleet) traffic() fleetTraffic {
	all := make(chan nats.Statistics, len(f.machines))
	for _, m := range f.machines {
		go func() { all <- m.nc.Stats() }() // nobody waits for one that is late
	}
	t := fleetTraffic{}
	late := time.After(statsTime)
	for range f.machines {
		select {
		case s := <-all:
			t.InMsgs += s.InMsgs
			t.OutMsgs += s.OutMsgs
			t.InBytes += s.InBytes
			t.OutBytes += s.OutBytes
			continue
		case <-late:
		}
		break
	}
	t.Usage = usageNow()
	return t
}

// count writes to a file what has become of each ID. It waits until no process
// runs any more.
func (f *fleet) count(path string) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := f.idle(ctx); err != nil {
		return nil, err
	}
	all := make(map[string]ran)
	f.begun.mu.Lock()
	for key, n := range f.begun.runs {
		_, ended := f.begun.ended[key]
		all[key.String()] = ran{Runs: n, Ended: ended}
	}
	f.begun.mu.Unlock()
	text, err := os.ReadFile(f.config.runsFile())
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		key := strings.TrimSpace(line)
		all[key] = ran{Runs: all[key].Runs + 1, Ended: true} // nothing runs any more
	}
	data, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	return len(all), os.WriteFile(path, data, 0o600)
}

// idle waits until no process runs any more.
func (f *fleet) idle(ctx context.Context) error {
	for name, m := range f.machines {
		for {
			page, err := m.host.List(ctx, procmgr.ListRequest{Limit: 1})
			if err != nil {
				return xerrors.Errorf("%s: %w", name, err)
			}
			if page.Live == 0 {
				break
			}
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
				return xerrors.Errorf("%s: %d processes run: %w", name, page.Live, ctx.Err())
			}
		}
	}
	return nil
}

// close ends all machines.
func (f *fleet) close() {
	var wg sync.WaitGroup
	for _, m := range f.machines {
		wg.Go(func() {
			m.gate.let()
			_ = m.service.Close()
			m.nc.Close()
			if m.real != nil {
				_ = m.real.Close()
			}
		})
	}
	wg.Wait()
}
