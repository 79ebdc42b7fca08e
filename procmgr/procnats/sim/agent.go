package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/procnats"
	"github.com/toolproc/toolproc/procmgr/procroute"
)

// An agentConfig is that of one agent.
type agentConfig struct {
	Name        string
	Servers     []string
	First, Last int     // its chats
	Rate        float64 // calls in a second
	Ends        bool
	Dir         string
	Pending     []string // starts whose fate its predecessor did not learn
	Profile     string
}

const (
	bucket = "sim-places"
	// callTime bounds a call.
	callTime = 30 * time.Second
	// retryTime is how long it repeats its request: it takes 10 s to find that one
	// was lost with the connection of a machine.
	retryTime = 25 * time.Second
	// maxInFlight is how many calls an agent has at a time. Beyond it, a call is
	// not made, and counted as such.
	maxInFlight = 4096
	// burstStarts is how many starts are a burst.
	burstStarts = 200
	// waitTime is how long a call waits that waits.
	waitTime = time.Second
	// againTimes is how often a start that has failed is sent again, and
	// againPause the pause before.
	againTimes = 20
	againPause = time.Second
)

func chatName(i int) string { return fmt.Sprintf("chat-%05d", i) }

// An agent calls for its chats, and reads the ends of their processes.
type agent struct {
	config  agentConfig
	parent  *parent
	js      jetstream.JetStream
	placer  *procnats.Placer
	router  *procnats.Router
	host    procmgr.Host
	meter   meter
	places  chan struct{} // one for each call in flight
	running sync.WaitGroup

	mu     sync.Mutex // guards the field below
	newest map[string]string
}

// runAgent is an agent, until stdin ends. Its lines are
//
//	S CHAT ID          the start of an ID is about to be sent
//	D CHAT ID OUTCOME  its answer: ok, unknown, refused
//	E CHAT ID DELAY    an end was read, and so many milliseconds after it
//	T JSON             what was counted since the last one
func runAgent(c agentConfig, p *parent) error {
	nc, err := connect(c.Servers, c.Name, nats.ReconnectBufSize(-1))
	if err != nil {
		return err
	}
	defer nc.Close()
	a := &agent{config: c, parent: p, places: make(chan struct{}, maxInFlight), newest: make(map[string]string)}
	if a.js, err = jetstream.New(nc); err != nil {
		return err
	}
	if a.placer, err = procnats.NewPlacer(a.js, bucket, nil); err != nil {
		return err
	}
	a.router = procnats.NewRouter(nc, a.placer, &prochttp.ClientOptions{Retry: retryTime})
	a.host = procroute.New(a.router, nil)
	ctx, cancel := context.WithCancel(context.Background())
	defer a.running.Wait()
	defer cancel()
	if c.Ends {
		ends, err := a.consumer(ctx)
		if err != nil {
			return err
		}
		a.running.Go(func() { a.readEnds(ctx, ends) })
	}
	a.running.Go(func() { a.meter.tell(ctx, p) })
	p.say("ready", nil)
	load, stop := context.WithCancel(ctx)
	defer stop()
	calling := make(chan struct{})
	return p.serve(map[string]func(string) (any, error){
		"place": func(string) (any, error) { return nil, a.place(ctx) },
		"go": func(string) (any, error) {
			for _, text := range c.Pending {
				a.call(ctx, func(ctx context.Context) { a.start(ctx, keyOf(text)) })
			}
			go func() { // "stop" waits for it
				defer close(calling)
				a.load(load)
			}()
			return nil, nil
		},
		"stop": func(string) (any, error) { // and wait for all calls
			stop()
			<-calling
			for range maxInFlight {
				a.places <- struct{}{}
			}
			return nil, nil
		},
		"stats": func(string) (any, error) {
			s := nc.Stats()
			return fleetTraffic{s.InMsgs, s.OutMsgs, s.InBytes, s.OutBytes, usageNow()}, nil
		},
		"burst": func(name string) (any, error) {
			a.burst(ctx, name)
			return nil, nil
		},
		"probe": func(name string) (any, error) { return a.probe(ctx, name) },
	})
}

// place places all chats of the agent, some at a time.
func (a *agent) place(ctx context.Context) error {
	const atOnce = 64
	var wg sync.WaitGroup
	errs := make(chan error, atOnce)
	todo := make(chan string)
	for range atOnce {
		wg.Go(func() {
			var failed error
			for chat := range todo {
				if _, err := a.placer.Place(ctx, chat); err != nil {
					failed = err
				}
			}
			errs <- failed
		})
	}
	for i := a.config.First; i < a.config.Last; i++ {
		todo <- chatName(i)
	}
	close(todo)
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// load makes calls at random times, as many in a second as wanted.
func (a *agent) load(ctx context.Context) {
	next := time.Now()
	for {
		next = next.Add(time.Duration(rand.ExpFloat64() / a.config.Rate * float64(time.Second)))
		if pause := time.Until(next); pause > time.Millisecond {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
		} else if ctx.Err() != nil {
			return
		}
		chat := chatName(a.config.First + rand.IntN(a.config.Last-a.config.First))
		a.call(context.WithoutCancel(ctx), func(ctx context.Context) { a.one(ctx, chat, next) })
	}
}

// call makes a call in a goroutine of its own, which "stop" waits for, unless
// too many are being made.
func (a *agent) call(ctx context.Context, do func(context.Context)) {
	select {
	case a.places <- struct{}{}:
	default:
		a.meter.skipped()
		return
	}
	go func() {
		defer func() { <-a.places }()
		do(ctx)
	}()
}

// one makes one of the calls of an agent: four of ten start a command, four read
// its output, half of these with a wait, some list, and few stop a command.
func (a *agent) one(ctx context.Context, chat string, due time.Time) {
	a.mu.Lock()
	id := a.newest[chat]
	a.mu.Unlock()
	m := a.host.Chat(chat)
	n := rand.IntN(100)
	if id == "" || n < 40 {
		key := processKey{chat, procmgr.NewID()}
		a.parent.tell("S", key.String())
		a.start(ctx, key)
		a.mu.Lock()
		a.newest[chat] = key.id
		a.mu.Unlock()
		return
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	var err error
	switch {
	case n < 60:
		_, err = m.Output(ctx, id, procmgr.OutputRequest{Wait: waitTime, State: procmgr.Running})
		due = time.Time{} // a wait says nothing of how fast the way is
	case n < 80:
		_, err = m.Output(ctx, id, procmgr.OutputRequest{})
	case n < 95:
		_, err = m.List(ctx, procmgr.ListRequest{})
	default:
		err = m.Signal(ctx, id, procmgr.Terminate)
		if errors.Is(err, procmgr.ErrNotRunning) {
			err = nil
		}
	}
	a.meter.called(due, err)
}

// start starts a command, and repeats a start that has failed, with its ID, as
// an agent does that wants to know what has become of it.
func (a *agent) start(ctx context.Context, key processKey) {
	outcome := "refused"
	for i := range againTimes {
		if i > 0 {
			time.Sleep(againPause)
		}
		err := a.startOnce(ctx, key)
		if err == nil {
			outcome = "ok"
			break
		}
		if errors.Is(err, procmgr.ErrUnknown) || outcome == "unknown" {
			outcome = "unknown"
		}
	}
	a.parent.tell("D", key.String()+" "+outcome)
}

func (a *agent) startOnce(ctx context.Context, key processKey) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	began := time.Now()
	_, err := a.host.Chat(key.chat).Start(ctx, procmgr.StartRequest{ID: key.id, Command: a.command(key)})
	a.meter.called(began, err)
	return err
}

// command notes that it has begun: a simulated machine counts it, and a real one
// runs it.
func (a *agent) command(key processKey) string {
	return "echo " + key.String() + " >>" + strconv.Quote(filepath.Join(a.config.Dir, "runs")) + "; sleep 0.2; echo ok"
}

// burst sends many starts at once, for the chats of a machine, or for any.
func (a *agent) burst(ctx context.Context, name string) {
	var chats []string
	for i := a.config.First; i < a.config.Last && len(chats) < burstStarts; i++ {
		chat := chatName(i)
		if host, err := a.placer.Place(ctx, chat); err == nil && (name == "" || host == name) {
			chats = append(chats, chat)
		}
	}
	for i := range burstStarts {
		if len(chats) == 0 {
			return // the other agent has all of them
		}
		key := processKey{chats[i%len(chats)], procmgr.NewID()}
		a.parent.tell("S", key.String())
		a.call(ctx, func(ctx context.Context) { a.start(ctx, key) })
	}
}

// probe asks a machine until it answers.
func (a *agent) probe(ctx context.Context, name string) (any, error) {
	client, err := prochttp.NewClient("http://localhost", &prochttp.ClientOptions{Transport: procnats.Transport(a.js.Conn(), name), Retry: -1})
	if err != nil {
		return nil, err
	}
	for {
		one, cancel := context.WithTimeout(ctx, time.Second)
		_, err = client.List(one, procmgr.ListRequest{})
		cancel()
		if err == nil || ctx.Err() != nil {
			return time.Now(), err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// consumer returns the durable consumer of the agent: its predecessor's, if it
// has one.
func (a *agent) consumer(ctx context.Context) (jetstream.Consumer, error) {
	for {
		one, cancel := context.WithTimeout(ctx, 5*time.Second)
		c, err := a.js.CreateOrUpdateConsumer(one, procnats.EndsConfig().Name, jetstream.ConsumerConfig{
			Durable: a.config.Name,
			// Not AckAll: an end that was sent to a request that is over would count
			// as read with the next one that is acknowledged.
			AckPolicy:     jetstream.AckExplicitPolicy,
			AckWait:       5 * time.Second,
			MaxAckPending: -1,
		})
		cancel()
		if err == nil || ctx.Err() != nil {
			return c, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// readEnds reads the ends of all processes, and notes those of its own chats
// before it acknowledges them.
func (a *agent) readEnds(ctx context.Context, c jetstream.Consumer) {
	for ctx.Err() == nil {
		batch, err := c.Fetch(512, jetstream.FetchMaxWait(time.Second))
		if err != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		var read []jetstream.Msg
		var lines strings.Builder
		for msg := range batch.Messages() {
			end, err := procnats.ParseEnd(msg)
			if err != nil {
				fmt.Fprintln(os.Stderr, "sim: an end that cannot be read:", err)
				continue
			}
			key := processKey{end.Process.ChatID, end.Process.ID}
			read = append(read, msg)
			if a.mine(key.chat) {
				delay := time.Since(end.At)
				a.meter.ended(delay)
				fmt.Fprintf(&lines, "E %s %d\n", key, delay.Milliseconds())
			}
		}
		a.parent.lines(lines.String())
		for _, msg := range read {
			if err := msg.Ack(); err != nil {
				break // it comes again
			}
		}
	}
}

// mine reports whether a chat is one of the agent's.
func (a *agent) mine(chat string) bool {
	n, err := strconv.Atoi(strings.TrimPrefix(chat, "chat-"))
	return err == nil && n >= a.config.First && n < a.config.Last
}
